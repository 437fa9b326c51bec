import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Answer } from './client.ts'
import { allOrNone, instancesUsual, tally } from './instances.ts'
import type { Server } from './servers.ts'

const answerWithinMs = 30_000
const startsMax = 3

export const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T

/** Instances that are killed and started again; whoever asks is sent to one that seems to be up. */
export class Fleet {
  readonly #up = new Set<Server>()
  readonly #ended: Server[] = []
  readonly #start: (starts?: number) => Promise<Server>
  readonly #starting: Promise<unknown>[] = []
  kills = 0

  constructor(start: () => Promise<Server>) {
    this.#start = async (starts = 1): Promise<Server> => {
      try {
        const server = await start()
        this.#up.add(server)
        return server
      } catch (error) {
        // Whatever looks after instances starts one again that did not come up.
        if (starts >= startsMax) throw error
        return this.#start(starts + 1)
      }
    }
  }

  begin = () => allOrNone(instancesUsual, () => this.#start())
  any = (): Server => pick([...this.#up])
  get everyone(): readonly Server[] {
    return [...this.#up, ...this.#ended]
  }

  /** Kills one, wherever in its work it is, and starts another in its place, unless it is the last. */
  async killOne(): Promise<void> {
    if (this.#up.size < 2) return
    const server = this.any()
    this.#up.delete(server)
    this.#ended.push(server)
    server.child.kill('SIGKILL')
    assert.equal((await server.ended).signal, 'SIGKILL')
    server.closeConnections()
    this.kills++
    const starting = this.#start()
    this.#starting.push(starting)
    // Whether it has come up is asked at the end, by complete().
    starting.catch(() => {})
  }

  /** Waits until all are up that were started. */
  complete = () => Promise.all(this.#starting)

  /** What the instances had to complain about, and how often. */
  complaints(): Record<string, number> {
    const lines = this.everyone.flatMap(({ output }) => output.stderr.split('\n').filter(Boolean))
    return tally(
      lines.map((line) => {
        const { level, msg, status, err } = JSON.parse(line)
        return `${level} ${msg} ${status ?? ''} ${err?.message ?? ''}`
      }),
    )
  }
}

/** So long everybody works, and no longer than until something is wrong. */
export class Shift {
  readonly #endsAt: number
  #hasFailed = false

  constructor(ms: number) {
    this.#endsAt = performance.now() + ms
  }

  keepOn = async (work: (turn: number) => Promise<unknown>): Promise<void> => {
    for (let turn = 0; performance.now() < this.#endsAt && !this.#hasFailed; turn++) {
      await work(turn).catch((error: unknown) => {
        this.#hasFailed = true
        throw error
      })
    }
  }

  /** Waits for all, also where one has failed: nobody may go on when the stage is cleared. */
  async over(workers: readonly Promise<void>[]): Promise<void> {
    const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected')
    if (failed) throw (failed as PromiseRejectedResult).reason
  }
}

type Sent = { body?: unknown; idempotencyKey?: string }

/** What the callers have sent, what they were answered, and hence what must be so. */
export class Known {
  readonly answers: string[] = []
  lost = 0
  /** Animals by name: the id that was answered, if any answer came. */
  readonly animals = new Map<string, { id?: number; isRetried: boolean }>()
  /** What each animal and order that was answered for must be at the end. */
  readonly pets = new Map<number, { name: string; status: string } | 'gone'>()
  readonly orders = new Map<number, string>()
  /** Orders whose hold was made to run out. */
  readonly held = new Set<number>()
  /** Answers of a retry that were those of a first attempt whose connection was lost. */
  replayed = 0
}

/** Nothing to go by: to be asked again, where that is safe. */
export const isBusy = (answer: Answer) =>
  answer.status === 503 || answer.json?.code === 'idempotency_in_progress'

/** A caller who speaks to any instance, and who sends again what has got no answer, where that is safe. */
export function callerOf(fleet: Fleet, key: string, known: Known) {
  /** One attempt; nothing where the connection was lost. */
  async function attempt(method: string, path: string, { body, idempotencyKey }: Sent = {}) {
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    try {
      const answer = await fleet.any().request(method, path, { key, body, headers })
      known.answers.push(`${answer.status}${answer.json?.code === undefined ? '' : ` ${answer.json.code}`}`)
      return answer
    } catch (error) {
      assert.match(String((error as NodeJS.ErrnoException).code), /^(?:ECONNRESET|ECONNREFUSED|EPIPE)$/)
      known.lost++
      return undefined
    }
  }

  /** Sends until there is an answer; says how many attempts had none. */
  async function insist(method: string, path: string, sent: Sent = {}) {
    const deadline = performance.now() + answerWithinMs
    for (let unanswered = 0; ; unanswered++) {
      assert.ok(performance.now() < deadline, `${method} ${path} gets no answer`)
      const answer = await attempt(method, path, sent)
      if (answer && !isBusy(answer)) {
        if (unanswered > 0 && answer.headers['idempotent-replayed']) known.replayed++
        return { answer, unanswered }
      }
      // Long enough for an instance to be noticed as gone, and no longer.
      await pause(10)
    }
  }

  async function ok(method: string, path: string, sent: Sent = {}): Promise<Answer['json']> {
    const { answer } = await insist(method, path, sent)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.json
  }

  return { attempt, insist, ok }
}
export type Caller = ReturnType<typeof callerOf>
