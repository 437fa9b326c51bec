import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { apiErrors } from '../../src/api/errors.ts'
import type { Client, ClientResponse, RequestOptions } from './client.ts'
import { assertError, assertResponseHeaders } from './responses.ts'

/** The message for a change whose outcome is unknown. */
const unknownOutcome =
  /^The connection to the database was lost before the commit was confirmed\. Check whether/

export const isOutcomeUnknown = ({ json }: ClientResponse): boolean => unknownOutcome.test(json?.message)

/** An unavailable database is reported with the documented error and no internal detail. */
export function assertUnavailable(response: ClientResponse, method = 'GET'): void {
  assertError(response, 503, 'unavailable')
  assertResponseHeaders(response, method)
  assert.match(String(response.headers['retry-after']), /^[1-9]\d*$/)
  if (!isOutcomeUnknown(response)) assert.equal(response.json.message, apiErrors.unavailable.message)
}

type Kind = 'read' | 'write'
type Attempt = { name: string; idempotencyKey: string }

/** Callers that read and write continuously, and their responses. */
export type Load = {
  /** Pets by the id of the response. */
  readonly created: Map<number, string>
  /** Attempts that were reported as not applied, and those with an unknown outcome. */
  readonly rejected: Attempt[]
  readonly unknown: Attempt[]
  /** The smallest count of responses of each kind over all callers. */
  leastGood(): number
  leastChanges(): number
  leastRejected(): number
  /** How many responses were errors, over all callers. */
  rejections(): number
  /** The longest response time so far, in milliseconds. */
  readonly longestMs: Record<Kind, number>
  /** Ends every caller after its response. */
  stop(): Promise<void>
}

type LoadOptions = {
  readonly callers: number
  readonly key: string
  /** Distinguishes the pets of two loads on one database. */
  readonly prefix?: string
}

const pauseAfterErrorMs = 50

/** Every response must be a success or a valid 503. Anything else fails `stop`. */
export function startLoad(clients: readonly Client[], { callers, key, prefix = 'load' }: LoadOptions): Load {
  const counts = Array.from({ length: callers }, () => ({ good: 0, changes: 0, rejected: 0 }))
  const load = {
    created: new Map<number, string>(),
    rejected: [] as Attempt[],
    unknown: [] as Attempt[],
    longestMs: { read: 0, write: 0 },
    leastGood: () => least('good'),
    leastChanges: () => least('changes'),
    leastRejected: () => least('rejected'),
    rejections: () => counts.reduce((sum, { rejected }) => sum + rejected, 0),
  }
  let isOver = false
  let failure: { error: unknown } | undefined

  function least(which: 'good' | 'changes' | 'rejected'): number {
    // No more responses will come.
    if (failure) throw failure.error
    return Math.min(...counts.map((count) => count[which]))
  }

  async function call(n: number, kind: Kind, method: string, path: string, options: RequestOptions = {}) {
    const client = clients[n % clients.length] as Client
    const sentAt = performance.now()
    const response = await client.request(method, path, { key, ...options })
    load.longestMs[kind] = Math.max(load.longestMs[kind], performance.now() - sentAt)
    const count = counts[n] as (typeof counts)[number]
    if (response.status === 503) {
      assertUnavailable(response, method)
      count.rejected++
      await pause(pauseAfterErrorMs)
    } else {
      assertResponseHeaders(response, method)
      assert.equal(response.status, method === 'POST' ? 201 : 200, `${method} ${path}: ${response.text}`)
      count.good++
      if (kind === 'write') count.changes++
    }
    return response
  }

  async function add(n: number, turn: number): Promise<void> {
    const name = `${prefix} ${n} ${turn}`
    const attempt = { name, idempotencyKey: name.replaceAll(' ', '-') }
    const response = await call(n, 'write', 'POST', '/v1/pets', {
      body: { name, categoryId: 7 },
      headers: { 'idempotency-key': attempt.idempotencyKey },
    })
    if (response.status === 201) {
      assert.equal(response.json.name, name)
      assert.ok(!load.created.has(response.json.id), `the id ${response.json.id} was given to two animals`)
      load.created.set(response.json.id, name)
    } else (isOutcomeUnknown(response) ? load.unknown : load.rejected).push(attempt)
  }

  async function keepCalling(n: number): Promise<void> {
    for (let turn = 0; !isOver; turn++) {
      await add(n, turn)
      await call(n, 'read', 'GET', '/v1/pets?limit=5')
      await call(n, 'read', 'GET', '/v1/store/inventory')
    }
  }

  const running = Promise.all(counts.map((_, n) => keepCalling(n)))
  // Handled here: `stop` reports the error, and it may be called much later.
  running.catch((error: unknown) => {
    failure = { error }
    isOver = true
  })
  return {
    ...load,
    async stop() {
      isOver = true
      await running
    },
  }
}
