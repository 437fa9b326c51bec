import { pollForChanges } from '../changePoller.ts'
import { changeLogTable, type Db } from '../tables.ts'

const pollIntervalMs = 250

/** Polls the newest id of the change log, which every change of any process appends to. */
export function watchExternalChanges(read: Db) {
  const newest = read.selectFrom(changeLogTable).select('id').orderBy('id', 'desc').limit(1)
  let seen: number | undefined
  return pollForChanges(async (notify) => {
    try {
      const id = (await newest.executeTakeFirst())?.id ?? 0
      const isNew = seen !== undefined && seen !== id
      seen = id
      if (isNew) notify()
    } catch {
      // Queries report the outage. Changes during it are unknown.
      seen = -1
    }
  }, pollIntervalMs)
}
