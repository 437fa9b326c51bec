/** A file that is mutated, and the tests that should notice it, the fastest first. */
export type Target = {
  readonly file: string
  readonly tests: readonly string[]
  /** Mutators that change only what people read, such as the descriptions of the OpenAPI document. */
  readonly excluded?: readonly string[]
}

/** The rules that the promises of the service depend on. */
export const targets: readonly Target[] = [
  {
    file: 'src/limits/window.ts',
    tests: ['test/plain/limitDecisions.test.ts', 'test/plain/window.test.ts'],
  },
  { file: 'src/limits/headers.ts', tests: ['test/plain/limitDecisions.test.ts'] },
  { file: 'src/limits/plans.ts', tests: ['test/plain/limitDecisions.test.ts'] },
  { file: 'src/auth/apiKey.ts', tests: ['test/plain/apiKey.test.ts'] },
  { file: 'src/pets/pet.ts', tests: ['test/plain/transitions.test.ts'] },
  { file: 'src/orders/order.ts', tests: ['test/plain/transitions.test.ts'] },
  {
    file: 'src/orders/queries.ts',
    tests: ['test/store/orders.test.ts', 'test/store/orderHolds.test.ts', 'test/store/openOrders.test.ts'],
  },
  { file: 'src/api/etag.ts', tests: ['test/plain/etag.test.ts'] },
  { file: 'src/api/json.ts', tests: ['test/plain/json.test.ts'] },
  {
    file: 'src/api/pagination.ts',
    tests: ['test/store/paging.test.ts', 'test/http/paging.test.ts'],
    excluded: ['StringLiteral'],
  },
  {
    file: 'src/api/idempotency.ts',
    tests: ['test/http/idempotency.test.ts', 'test/store/idempotency.test.ts'],
    excluded: ['StringLiteral'],
  },
]
