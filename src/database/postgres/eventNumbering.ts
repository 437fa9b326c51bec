import { sql } from 'kysely'
import type { Db } from '../tables.ts'

/** The most events that one query gives ids to. */
const pieceMax = 10_000

/** Gives ids to the events that have none yet, with one query at a time. */
export class EventNumbering {
  readonly #read: Db
  #running: Promise<number> | undefined
  #next: Promise<number> | undefined
  #lastId = 0
  /** Whether feed_head.settled is of the server that this process is connected to. */
  #isSettledKnown = false

  constructor(read: Db) {
    this.#read = read
  }

  /** Returns the last id of the feed. All events that were committed before the call have an id then. */
  numberEvents(): Promise<number> {
    if (!this.#running) return this.#start()
    // The running query may not see the latest commits.
    this.#next ??= this.#running.catch(() => {}).then(() => this.#start())
    return this.#next
  }

  #start(): Promise<number> {
    this.#next = undefined
    const running = this.#query().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    // The next connection may be to another server.
    running.catch(() => {
      this.#isSettledKnown = false
    })
    this.#running = running
    return running
  }

  async #query(): Promise<number> {
    await this.#forgetSettled()
    for (;;) {
      const { rows } = await sql<{ last_id: number }>`SELECT number_events_1() AS last_id`.execute(this.#read)
      const lastId = rows[0]?.last_id ?? 0
      const isWhole = lastId - this.#lastId < pieceMax
      this.#lastId = lastId
      if (isWhole) return lastId
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
