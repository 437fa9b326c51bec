import { type Clock, timestamp } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { MaybePromise } from '../maybePromise.ts'
import {
  type ClaimedDelivery,
  claimDelivery,
  type DueLane,
  dueLanes,
  finishAttempt,
  releaseDelivery,
} from './deliveries.ts'
import { dispatchEvents, hasActiveWebhooks, hasUndispatchedEvents } from './dispatch.ts'
import type { AttemptOutcome, SendOptions } from './send.ts'
import { messageId } from './webhook.ts'

const attemptsAtOnceMax = 64
/** How long a lane may keep its place while others wait for one. */
const turnMs = 1_000

type DelivererOptions = {
  readonly database: Database
  readonly clock: Clock
  readonly sending: SendOptions
  /** The id up to which events are durable; nothing is sent of later ones. */
  durableThrough(): MaybePromise<number>
  onAttempt(outcome: AttemptOutcome): void
  onFault(error: unknown): void
}

/**
 * Carries events to webhooks. Each endpoint has two lanes with one attempt at a time in each, and all lanes together a
 * bound: an endpoint that hangs keeps its own lanes busy and nobody else's. Where more lanes are due than the bound
 * allows they take turns.
 */
export class Deliverer {
  readonly #options: DelivererOptions
  readonly #busy = new Set<string>()
  readonly #running = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  #round: Promise<void> | undefined
  #isWanted = false
  #isCrowded = false
  /** The endpoint that was last given a place; when places are scarce the next one is first in line. */
  #lastStarted = 0

  constructor(options: DelivererOptions) {
    this.#options = options
  }

  /** Looks for work. Calls that come while it looks are one more look. */
  wake(): void {
    this.#isWanted = true
    this.#round ??= this.#look().finally(() => {
      this.#round = undefined
    })
  }

  /** Begins nothing more, and breaks off what is under way: it is tried again after the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#round
    await Promise.all(this.#running)
  }

  async #look(): Promise<void> {
    const { database, clock, durableThrough, onFault } = this.#options
    while (this.#isWanted && !this.#stopping.signal.aborted) {
      this.#isWanted = false
      try {
        if (!(await hasActiveWebhooks(database.read))) continue
        // Asked before it is written: a commit wakes us, and must not wake us for nothing.
        const through = await durableThrough()
        while (await hasUndispatchedEvents(database.read, through))
          await database.write((trx) => dispatchEvents(trx, clock(), through))
        this.#startAll(await dueLanes(database.read, clock()))
      } catch (error) {
        onFault(error)
      }
    }
  }

  #startAll(due: readonly DueLane[]): void {
    const turn = ({ webhookId }: DueLane) => (webhookId > this.#lastStarted ? 0 : 1)
    const inTurn = due.toSorted((a, b) => turn(a) - turn(b) || a.webhookId - b.webhookId)
    this.#isCrowded = false
    for (const next of inTurn) this.#start(next)
  }

  #start({ webhookId, lane }: DueLane): void {
    const name = `${webhookId} ${lane}`
    if (this.#stopping.signal.aborted || this.#busy.has(name)) return
    if (this.#busy.size >= attemptsAtOnceMax) {
      this.#isCrowded = true
      return
    }
    this.#busy.add(name)
    this.#lastStarted = webhookId
    const run = this.#runLane(webhookId, lane)
      .then(
        () => true,
        (error: unknown) => {
          this.#options.onFault(error)
          return false
        },
      )
      .then((isDone) => {
        this.#busy.delete(name)
        this.#running.delete(run)
        // Something may have come since the lane's last look, or waited for its place. A fault is not hurried after.
        if (isDone) this.wake()
      })
    this.#running.add(run)
  }

  async #runLane(webhookId: number, lane: DueLane['lane']): Promise<void> {
    const { database, clock, sending } = this.#options
    const turnEndsAt = performance.now() + turnMs
    do {
      const claim = await database.writeConcurrently((trx) =>
        claimDelivery(trx, database.dialect, webhookId, lane, clock()),
      )
      if (!claim) return
      const { signal } = this.#stopping
      const [body, headers] = await signedMessage(claim, clock())
      // Only a store with webhooks needs what sends to them.
      const { send } = await import('./send.ts')
      const outcome = await send(claim.webhook.url, body, headers, { ...sending, signal })
      const isBrokenOff = signal.aborted && 'error' in outcome
      if (!isBrokenOff) this.#options.onAttempt(outcome)
      await database.writeConcurrently((trx) =>
        isBrokenOff
          ? releaseDelivery(trx, claim)
          : finishAttempt(trx, database.dialect, claim, outcome, clock(), Math.random()),
      )
    } while (!this.#stopping.signal.aborted && !(this.#isCrowded && performance.now() > turnEndsAt))
  }
}

/** Body and headers as Standard Webhooks has them; during a rotation both secrets sign. */
export async function signedMessage(
  { delivery, webhook }: ClaimedDelivery,
  now: number,
): Promise<[body: string, headers: Record<string, string>]> {
  const { Webhook: Signer } = await import('standardwebhooks')
  const { eventType, eventAt, data } = delivery
  const body = `{"type":"${eventType}","timestamp":"${timestamp(eventAt)}","data":${data}}`
  const id = messageId(delivery)
  const secrets = [webhook.secret, webhook.previousSecret].filter((secret) => secret !== undefined)
  const signature = secrets.map((secret) => new Signer(secret).sign(id, new Date(now), body)).join(' ')
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'Petstore-Webhooks/1',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / 1000)),
    'webhook-signature': signature,
  }
  return [body, headers]
}
