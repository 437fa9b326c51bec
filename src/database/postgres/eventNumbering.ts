import { sql } from 'kysely'
import type { Db } from '../db.ts'
import { SharedRun } from '../sharedRun.ts'

/** The most events that one query gives ids to. */
const batchMax = 10_000

/** Gives ids to the events that have none yet, with one query at a time. */
export class EventNumbering {
  readonly #read: Db
  readonly #batches = new SharedRun(() => this.#numberBatch())
  #lastId = 0
  /** Whether feed_head.settled is of the server that this process is connected to. */
  #isSettledKnown = false

  constructor(read: Db) {
    this.#read = read
  }

  /**
   * Gives ids to one batch of the events, and returns the last id of the feed. Unless there are more than a batch, all
   * events that were committed before the call have an id then.
   */
  async numberSome(): Promise<number> {
    return (await this.#batches.run()).lastId
  }

  /** All events that were committed before the call have an id then, unless the signal is aborted. */
  async numberAll(signal?: AbortSignal): Promise<number> {
    for (;;) {
      const { lastId, isAll } = await this.#batches.run()
      if (isAll || signal?.aborted) return lastId
    }
  }

  /** `isAll`: all events that were committed before the query have an id. */
  async #numberBatch() {
    try {
      await this.#forgetSettled()
      const { rows } = await sql<{ last_id: number }>`SELECT number_events_1() AS last_id`.execute(this.#read)
      const lastId = rows[0]?.last_id ?? 0
      const isAll = lastId - this.#lastId < batchMax
      this.#lastId = lastId
      return { lastId, isAll }
    } catch (error) {
      // The next connection may be to another server.
      this.#isSettledKnown = false
      throw error
    }
  }

  /**
   * After a restore into another server, "settled" and the ids of transactions come from different servers. Without it
   * the first query finds all events that have no id.
   */
  async #forgetSettled(): Promise<void> {
    if (this.#isSettledKnown) return
    await sql`UPDATE feed_head SET settled = '0' WHERE settled > '0'`.execute(this.#read)
    this.#isSettledKnown = true
  }
}
