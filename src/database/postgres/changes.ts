import { sql } from 'kysely'
import { pollForChanges } from '../changePoller.ts'
import type { Db } from '../tables.ts'

const defaultPollMs = 250

/** Polls the version of the database, which every change of any process increases. */
export function watchExternalChanges(read: Db, pollMs = defaultPollMs) {
  const version = sql<{ version: number }>`SELECT sum(changes)::bigint AS version FROM counter_slots`
  let seen: number | undefined
  return pollForChanges(async (notify) => {
    try {
      const current = (await version.execute(read)).rows[0]?.version
      const isNew = seen !== undefined && seen !== current
      seen = current
      if (isNew) notify()
    } catch {
      // Queries report the outage. Changes during it are unknown.
      seen = -1
    }
  }, pollMs)
}
