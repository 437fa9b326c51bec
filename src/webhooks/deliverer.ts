import { Rounds, type RoundsOptions } from '../database/rounds.ts'
import { claimDelivery, type DueLane, dueLanes, finishAttempt, releaseDelivery } from './attempts.ts'
import { dispatchEvents, hasActiveWebhooks, hasUndispatchedEvents } from './dispatch.ts'
import type { SendOptions } from './send.ts'
import type { AttemptOutcome } from './webhook.ts'

const concurrentLanesMax = 64
/** How long a lane keeps its slot while other lanes wait for one. */
const laneSlotMs = 1_000

type DelivererOptions = RoundsOptions & {
  readonly sending: SendOptions
  onAttempt(outcome: AttemptOutcome): void
}

/**
 * Sends events to webhooks. Each lane of a webhook makes one attempt at a time, and the number of active lanes is
 * bounded, so an endpoint that does not respond blocks only its lanes. When more lanes are due than there are slots, they
 * take turns.
 */
export class Deliverer extends Rounds<DelivererOptions> {
  readonly #activeLanes = new Map<string, Promise<void>>()
  #areLanesWaiting = false
  /** The webhook whose lane was started last: the next in order gets the next slot. */
  #lastWebhookId = 0

  /** Starts no more attempts and aborts those under way, which are repeated after the next start. */
  override async stop(): Promise<void> {
    await super.stop()
    await Promise.all(this.#activeLanes.values())
  }

  protected async runRound(): Promise<void> {
    const { signal } = this
    const { database, clock } = this.options
    if (signal.aborted || !(await hasActiveWebhooks(database.read))) return
    // Read before writing: every commit wakes the deliverer, so a write without need would never end.
    const through = await database.readableThrough()
    while (!signal.aborted && (await hasUndispatchedEvents(database.read, through)))
      await database.write((trx) => dispatchEvents(trx, clock(), through))
    this.#startLanes(await dueLanes(database.read, clock()))
  }

  #startLanes(due: readonly DueLane[]): void {
    const isAfterLast = ({ webhookId }: DueLane) => webhookId > this.#lastWebhookId
    const inTurn = due.toSorted(
      (a, b) => Number(isAfterLast(b)) - Number(isAfterLast(a)) || a.webhookId - b.webhookId,
    )
    this.#areLanesWaiting = false
    for (const lane of inTurn) {
      const name = `${lane.webhookId} ${lane.lane}`
      if (this.signal.aborted || this.#activeLanes.has(name)) continue
      if (this.#activeLanes.size >= concurrentLanesMax) {
        this.#areLanesWaiting = true
        return
      }
      this.#lastWebhookId = lane.webhookId
      const running = this.#runLane(lane)
        .finally(() => this.#activeLanes.delete(name))
        .then(
          // A delivery may have become due since the last claim, or a lane may be waiting for the slot.
          () => this.wake(),
          // No wake: the next commit or scheduled round retries.
          (error: unknown) => this.options.onFault(error),
        )
      this.#activeLanes.set(name, running)
    }
  }

  async #runLane(lane: DueLane): Promise<void> {
    const slotEndsAt = performance.now() + laneSlotMs
    while (await this.#attemptNext(lane)) {
      const mustYield = this.#areLanesWaiting && performance.now() > slotEndsAt
      if (mustYield || this.signal.aborted) return
    }
  }

  /** Returns whether there may be another delivery. */
  async #attemptNext(lane: DueLane): Promise<boolean> {
    const { signal } = this
    const { database, clock, sending, onAttempt } = this.options
    const claim = await database.writeUnlogged((trx) => claimDelivery(trx, lane, clock()))
    if (!claim) return false
    if (claim === 'failed') return true
    // Loaded on first use: most instances have no webhooks.
    const { signedMessage, sendMessage } = await import('./send.ts')
    const { body, headers } = signedMessage(claim, clock())
    const outcome = await sendMessage(claim.webhook.url, body, headers, { ...sending, signal })
    const isAborted = signal.aborted && 'error' in outcome
    if (!isAborted) onAttempt(outcome)
    await database.writeUnlogged((trx) =>
      isAborted ? releaseDelivery(trx, claim) : finishAttempt(trx, claim, outcome, clock(), Math.random()),
    )
    return true
  }
}
