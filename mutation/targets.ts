/** A file that is mutated, and the tests that should notice it, the fastest first. */
export type Target = {
  /** The promise that depends on it. */
  readonly subject: string
  readonly file: string
  readonly tests: readonly string[]
}

/** The rules that the promises of the service depend on, the slowest first. */
export const targets: readonly Target[] = [
  { subject: 'int64', file: 'src/api/json.ts', tests: ['test/plain/json.test.ts'] },
  {
    subject: 'orders',
    file: 'src/orders/queries.ts',
    tests: [
      'test/store/openOrders.test.ts',
      'test/store/orderQueries.test.ts',
      'test/sqlite/expiredHolds.test.ts',
    ],
  },
  {
    subject: 'windows',
    file: 'src/limits/window.ts',
    tests: ['test/plain/limitDecisions.test.ts', 'test/plain/window.test.ts'],
  },
  {
    subject: 'cursors',
    file: 'src/api/pagination.ts',
    tests: ['test/plain/cursors.test.ts', 'test/contract/openapiDocument.test.ts'],
  },
  {
    subject: 'idempotency',
    file: 'src/api/idempotency.ts',
    tests: ['test/store/idempotencyRecords.test.ts'],
  },
  { subject: 'keys', file: 'src/auth/apiKey.ts', tests: ['test/plain/apiKey.test.ts'] },
  {
    subject: 'If-Match',
    file: 'src/api/etag.ts',
    tests: ['test/plain/etag.test.ts', 'test/contract/openapiDocument.test.ts'],
  },
  { subject: 'limits', file: 'src/limits/headers.ts', tests: ['test/plain/limitDecisions.test.ts'] },
  { subject: 'limits', file: 'src/limits/plans.ts', tests: ['test/plain/limitDecisions.test.ts'] },
  { subject: 'transitions', file: 'src/pets/pet.ts', tests: ['test/plain/transitions.test.ts'] },
  { subject: 'transitions', file: 'src/orders/order.ts', tests: ['test/plain/transitions.test.ts'] },
]
