import type { Kysely } from 'kysely'
import { changeLogTable, type Tables } from '../tables.ts'

const foreignChangePollMs = 250

/** Polls the newest id of the change log, which every change of any process appends to. */
export function watchForeignChanges(read: Kysely<Tables>) {
  const listeners: (() => void)[] = []
  let seen: number | undefined
  let isRunning = false
  const poll = async () => {
    if (isRunning || listeners.length === 0) return
    isRunning = true
    try {
      const row = await read
        .selectFrom(changeLogTable)
        .select('id')
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst()
      const isNew = seen !== undefined && seen !== (row?.id ?? 0)
      seen = row?.id ?? 0
      if (isNew) for (const listener of listeners) listener()
    } catch {
      // Queries report the outage. Changes during it are unknown.
      seen = -1
    }
    isRunning = false
  }
  const timer = setInterval(poll, foreignChangePollMs)
  timer.unref()
  return {
    listen: (listener: () => void) => void listeners.push(listener),
    stop: () => clearInterval(timer),
  }
}
