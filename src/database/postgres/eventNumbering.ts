import { sql } from 'kysely'
import type { Db } from '../db.ts'
import { SharedRun } from '../sharedRun.ts'

/** The most events that one query gives ids to. */
const batchMax = 10_000

/** Gives ids to the events that have none yet, with one query at a time. */
export function createEventNumbering(read: Db) {
  let last = 0
  /** Whether feed_head.settled is of the server that this process is connected to. */
  let isSettledKnown = false

  /** `isAll`: all events that were committed before the query have an id. */
  async function numberBatch() {
    try {
      // After a restore into another server, "settled" and the ids of transactions come from different servers. Without it
      // the first query finds all events that have no id.
      if (!isSettledKnown) await sql`UPDATE feed_head SET settled = '0' WHERE settled > '0'`.execute(read)
      isSettledKnown = true
      const { rows } = await sql<{ last_id: number }>`SELECT number_events_1() AS last_id`.execute(read)
      const lastId = rows[0]?.last_id ?? 0
      const isAll = lastId - last < batchMax
      last = lastId
      return { lastId, isAll }
    } catch (error) {
      // The next connection may be to another server.
      isSettledKnown = false
      throw error
    }
  }
  const batches = new SharedRun(numberBatch)

  return {
    /**
     * Gives ids to one batch of the events, and returns the last id of the feed. Unless there are more than a batch, all
     * events that were committed before the call have an id then.
     */
    numberSome: async () => (await batches.run()).lastId,
    /** All events that were committed before the call have an id then, unless the signal is aborted. */
    async numberAll(signal?: AbortSignal) {
      for (;;) {
        const { lastId, isAll } = await batches.run()
        if (isAll || signal?.aborted) return lastId
      }
    },
  }
}
