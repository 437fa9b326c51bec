import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import type { Database } from './database.ts'
import { SharedRun } from './sharedRun.ts'

export type RoundsOptions = {
  readonly database: Database
  readonly clock: Clock
  onFault(error: unknown): void
}

/** Work in the background that is done in rounds, one at a time. */
export abstract class Rounds<O extends RoundsOptions> {
  protected readonly options: O
  readonly #stopping = new AbortController()
  protected readonly signal = this.#stopping.signal
  readonly #rounds = new SharedRun(() => this.runRound().catch((error) => this.options.onFault(error)))

  constructor(options: O) {
    this.options = options
  }

  protected abstract runRound(): Promise<void>

  /** Starts a round that looks for work. Calls during a round cause one more round. */
  wake(): void {
    if (!this.signal.aborted) void this.#rounds.run()
  }

  /** The work is continued by the next start, or by another instance. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#rounds.ended()
  }

  /** Ends early when the work stops. */
  protected async pause(durationMs: number): Promise<void> {
    await sleep(durationMs, undefined, { signal: this.signal, ref: false }).catch(() => {})
  }
}
