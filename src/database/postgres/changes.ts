import type { Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

const foreignChangePollMs = 250

/** Every change writes an event, so the newest event tells whether anything has changed, here or elsewhere. */
export function watchForeignChanges(read: Kysely<Tables>) {
  const listeners: (() => void)[] = []
  let seen: number | undefined
  let isRunning = false
  const look = async () => {
    if (isRunning || listeners.length === 0) return
    isRunning = true
    try {
      const row = await read
        .selectFrom('events')
        .select('id')
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst()
      const isNew = seen !== undefined && seen !== (row?.id ?? 0)
      seen = row?.id ?? 0
      if (isNew) for (const listener of listeners) listener()
    } catch {
      // Queries report the outage themselves; treat the state as unknown.
      seen = -1
    }
    isRunning = false
  }
  const timer = setInterval(look, foreignChangePollMs)
  timer.unref()
  return {
    listen: (listener: () => void) => void listeners.push(listener),
    stop: () => clearInterval(timer),
  }
}
