import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClientResponse } from './client.ts'
import { startAll, tally } from './instances.ts'
import type { Server } from './servers.ts'

const responseMaxMs = 30_000
const startsMax = 3

export const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T

/** Instances that are killed and started again. Requests go to one that seems to be up, or to the last one that was. */
export class Fleet {
  readonly #up = new Set<Server>()
  readonly #ended: Server[] = []
  readonly #start: (starts?: number) => Promise<Server>
  readonly #starting: Promise<unknown>[] = []
  readonly #count: number
  kills = 0

  constructor(start: () => Promise<Server>, count: number) {
    this.#count = count
    this.#start = async (starts = 1): Promise<Server> => {
      try {
        const server = await start()
        this.#up.add(server)
        return server
      } catch (error) {
        // A supervisor would also retry a start that failed.
        if (starts >= startsMax) throw error
        return this.#start(starts + 1)
      }
    }
  }

  begin = () => startAll(this.#count, () => this.#start())
  any = (): Server => (this.#up.size > 0 ? pick([...this.#up]) : (this.#ended.at(-1) as Server))
  get all(): readonly Server[] {
    return [...this.#up, ...this.#ended]
  }

  /** Kills one at any point of its work and starts another. Of several, the last one is not killed. */
  async killOne(): Promise<void> {
    if (this.#up.size < Math.min(this.#count, 2)) return
    const server = this.any()
    this.#up.delete(server)
    this.#ended.push(server)
    server.child.kill('SIGKILL')
    assert.equal((await server.ended).signal, 'SIGKILL')
    server.closeConnections()
    this.kills++
    const starting = this.#start()
    this.#starting.push(starting)
    // complete() reports a start that failed.
    starting.catch(() => {})
  }

  /** Waits until all started instances are up. */
  complete = () => Promise.all(this.#starting)
}

/** The warnings and errors in the logs of instances, with their counts. */
export function logProblems(instances: readonly Server[]): Record<string, number> {
  const lines = instances.flatMap(({ output }) => output.stderr.split('\n').filter(Boolean))
  return tally(
    lines.map((line) => {
      const { level, msg, status, err } = JSON.parse(line)
      return `${level} ${msg} ${status ?? ''} ${err?.message ?? ''}`
    }),
  )
}

/** Lets workers run for a time, or until it is ended or one of them fails. */
export class WorkPeriod {
  #endsAt: number
  #hasFailed = false

  constructor(ms: number) {
    this.#endsAt = performance.now() + ms
  }

  repeat = async (work: (turn: number) => Promise<unknown>): Promise<void> => {
    for (let turn = 0; performance.now() < this.#endsAt && !this.#hasFailed; turn++) {
      await work(turn).catch((error: unknown) => {
        this.#hasFailed = true
        throw error
      })
    }
  }

  end(): void {
    this.#endsAt = 0
  }

  /** Waits for all workers, also if one has failed: none may run while the test cleans up. */
  async over(workers: readonly Promise<void>[]): Promise<void> {
    const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected')
    if (failed) throw (failed as PromiseRejectedResult).reason
  }
}

type Sent = { body?: unknown; idempotencyKey?: string }

/** The requests and responses of the callers, and the state that must follow from them. */
export class ExpectedState {
  readonly responses: string[] = []
  lost = 0
  /** Changes that got a response with a success. */
  acknowledged = 0
  /** Pets by name, with the id of the response if there was one. */
  readonly animals = new Map<string, { id?: number; isRetried: boolean }>()
  /** The state that each confirmed pet and order must have at the end. */
  readonly pets = new Map<number, { name: string; status: string } | 'gone'>()
  readonly orders = new Map<number, string>()
  /** Orders whose hold was made to expire. */
  readonly held = new Set<number>()
  /** Retries that got the response of a first attempt whose connection was lost. */
  replayed = 0
}

/** A response that says nothing about the outcome: retry if that is safe. */
export const isBusy = (response: ClientResponse) =>
  response.status === 503 || response.json?.code === 'idempotency_in_progress'

/** A caller that uses any instance and retries requests without a response if that is safe. */
export function callerOf(fleet: Pick<Fleet, 'any'>, key: string, known: ExpectedState) {
  /** One attempt; undefined if the connection was lost. */
  async function attempt(method: string, path: string, { body, idempotencyKey }: Sent = {}) {
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    try {
      const response = await fleet.any().request(method, path, { key, body, headers })
      known.responses.push(
        `${response.status}${response.json?.code === undefined ? '' : ` ${response.json.code}`}`,
      )
      if (method !== 'GET' && response.status < 300) known.acknowledged++
      return response
    } catch (error) {
      assert.match(String((error as NodeJS.ErrnoException).code), /^(?:ECONNRESET|ECONNREFUSED|EPIPE)$/)
      known.lost++
      return undefined
    }
  }

  /** Retries until there is a response. `unanswered` counts the attempts before it. */
  async function retryUntilResponse(method: string, path: string, sent: Sent = {}) {
    const deadline = performance.now() + responseMaxMs
    const results: (string | number)[] = []
    for (let failedAttempts = 0; ; failedAttempts++) {
      const seen = () => JSON.stringify(tally(results))
      assert.ok(performance.now() < deadline, `${method} ${path} gets no response, but ${seen()}`)
      const response = await attempt(method, path, sent)
      results.push(response?.status ?? 'lost')
      if (response && !isBusy(response)) {
        if (failedAttempts > 0 && response.headers['idempotent-replayed']) known.replayed++
        return { response, failedAttempts }
      }
      // Gives the fleet time to notice that an instance is gone.
      await pause(10)
    }
  }

  async function ok(method: string, path: string, sent: Sent = {}): Promise<ClientResponse['json']> {
    const { response } = await retryUntilResponse(method, path, sent)
    assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${response.text}`)
    return response.json
  }

  return { attempt, insist: retryUntilResponse, ok }
}
export type Caller = ReturnType<typeof callerOf>
