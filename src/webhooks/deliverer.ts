import type { BlockList } from 'node:net'
import { Webhook as Signer } from 'standardwebhooks'
import type { Clock } from '../clock.ts'
import { timestamp } from '../clock.ts'
import type { Database } from '../database/database.ts'
import {
  type Claim,
  claimDelivery,
  dispatchEvents,
  dueWebhooks,
  finishAttempt,
  hasUndispatched,
  type Lane,
} from './queries.ts'
import { type Outcome, send } from './send.ts'
import { messageId } from './webhook.ts'

const attemptsAtOnceMax = 64
const lanes: readonly Lane[] = ['first', 'again']

export type DelivererOptions = {
  readonly database: Database
  readonly clock: Clock
  readonly allowed: BlockList
  onFault(error: unknown): void
  sendMessage?: typeof send
}

/**
 * Carries events to webhooks. Each endpoint has two lanes with one attempt at a time in each, and all lanes together a
 * bound: an endpoint that hangs keeps its own lanes busy and nobody else's.
 */
export class Deliverer {
  readonly #options: DelivererOptions
  readonly #busy = new Set<string>()
  readonly #running = new Set<Promise<void>>()
  #round: Promise<void> | undefined
  #isWanted = false
  #isStopping = false

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

  /** Begins nothing more, and waits for what is under way. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#round
    await Promise.all(this.#running)
  }

  async #look(): Promise<void> {
    const { database, clock, onFault } = this.#options
    while (this.#isWanted && !this.#isStopping) {
      this.#isWanted = false
      try {
        // Asked before it is written: a commit wakes us, and must not wake us for nothing.
        while (await hasUndispatched(database.read))
          await database.write((trx) => dispatchEvents(trx, clock()))
        for (const id of await dueWebhooks(database.read, clock()))
          for (const lane of lanes) this.#start(id, lane)
      } catch (error) {
        onFault(error)
      }
    }
  }

  #start(webhookId: number, lane: Lane): void {
    const name = `${webhookId} ${lane}`
    if (this.#isStopping || this.#busy.has(name) || this.#busy.size >= attemptsAtOnceMax) return
    this.#busy.add(name)
    const run = this.#runLane(webhookId, lane)
      .catch(this.#options.onFault)
      .finally(() => {
        this.#busy.delete(name)
        this.#running.delete(run)
        // A place is free: somebody else may have waited for it.
        if (this.#busy.size === attemptsAtOnceMax - 1) this.wake()
      })
    this.#running.add(run)
  }

  async #runLane(webhookId: number, lane: Lane): Promise<void> {
    const { database, clock, allowed, sendMessage = send } = this.#options
    while (!this.#isStopping) {
      const claim = await database.write((trx) => claimDelivery(trx, webhookId, lane, clock()))
      if (!claim) return
      const outcome: Outcome = await sendMessage(claim.webhook.url, ...message(claim, clock()), allowed)
      await database.write((trx) => finishAttempt(trx, claim, outcome, clock(), Math.random()))
    }
  }
}

/** Body and headers as Standard Webhooks has them; during a rotation both secrets sign. */
export function message(
  { delivery, webhook }: Claim,
  now: number,
): [body: string, headers: Record<string, string>] {
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
