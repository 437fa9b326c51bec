import { sql } from 'kysely'
import { toJson } from '../api/json.ts'
import { lockCursor, readCursor, writeCursor } from '../database/cursors.ts'
import type { Db, Trx } from '../database/db.ts'
import { type EventType, type FeedEvent, isPrivateEvent } from './event.ts'

export const eventRetentionMs = 30 * 24 * 60 * 60 * 1000
/** The id up to which events were pruned. */
export const prunedCursor = 'events.pruned'
const pruneRowsMax = 1_000
/** More events than a running service records during a restore. */
const restartGap = 1_000_000

type NewEvent = { type: EventType; data: unknown }

/** Records events in the transaction of the change. */
export const recordEvents = (trx: Trx, now: number, events: readonly NewEvent[]): Promise<void> =>
  trx.logChanges(
    events.map(({ type, data }) => ({
      type,
      createdAt: now,
      data: toJson(data),
      isPrivate: isPrivateEvent(type),
    })),
  )

export const recordEvent = (trx: Trx, now: number, type: EventType, data: unknown): Promise<void> =>
  recordEvents(trx, now, [{ type, data }])

/** For reads inside a transaction, which include events that are not durable yet. */
export const eventIdMax = Number.MAX_SAFE_INTEGER

/** Events after one id and up to another, oldest first. Pass the id up to which events are durable as `through`. */
export async function eventsAfter(
  db: Db,
  after: number,
  limit: number,
  includesPrivate: boolean,
  through: number,
): Promise<FeedEvent[]> {
  const events = await db
    .selectFrom('events')
    .select(['id', 'type', 'created_at as createdAt', 'data'])
    .where('id', '>', after)
    .where('id', '<=', through)
    .orderBy('id')
    .limit(limit)
    .$if(!includesPrivate, (query) => query.where('is_private', '=', sql.lit(0)))
    .execute()
  return events as FeedEvent[]
}

/** The events that have no id yet. Only PostgreSQL has them. */
export const eventsWithoutId = (db: Db): Promise<{ type: string; data: string }[]> =>
  db.selectFrom('events').select(['type', 'data']).where('id', 'is', null).execute()

/** The id of the newest event up to the id `through`, even if that event was pruned. */
export async function lastEventId(db: Db, through: number): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select('id')
    .where('id', '<=', through)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.id ?? (await lastPrunedEventId(db))
}

export const lastPrunedEventId = (db: Db): Promise<number> => readCursor(db, prunedCursor)

/** Deletes a bounded number of events that are older than the retention period. Returns how many. */
export async function pruneEvents(trx: Trx, now: number): Promise<number> {
  const pruned = await lockCursor(trx, prunedCursor)
  const oldest = await trx
    .selectFrom('events')
    .select(['id', 'created_at'])
    // Not those that have no id yet.
    .where('id', '>', 0)
    .orderBy('id')
    .limit(pruneRowsMax)
    .execute()
  // Up to the first recent event: after the clock was set back, an old time can follow a recent one.
  const firstRecent = oldest.findIndex((row) => row.created_at > now - eventRetentionMs)
  const expired = firstRecent === -1 ? oldest : oldest.slice(0, firstRecent)
  const last = expired.at(-1)
  if (!last) return 0
  await trx.deleteFrom('events').where('id', '<=', last.id).execute()
  // The cursor must not decrease: the feed may continue another one after a higher id.
  if (last.id > pruned) await writeCursor(trx, prunedCursor, last.id)
  return expired.length
}

/** Continues the feed of another database after its last id. Its earlier events count as pruned. */
export async function continueFeed(trx: Trx, lastId: number): Promise<void> {
  if (lastId <= (await trx.dialect.lastAssignedId(trx, 'events'))) return
  await trx.dialect.reserveIds(trx, 'events', lastId)
  await writeCursor(trx, prunedCursor, lastId)
}

/**
 * Restarts the feed far above every id that was ever assigned. Clients that followed the feed before a restore get
 * `events_expired` and list all resources again.
 */
export async function restartFeed(trx: Trx, lastSeenId: number): Promise<void> {
  const start = Math.max(lastSeenId, await lastEventId(trx, eventIdMax)) + restartGap
  await trx.deleteFrom('events').execute()
  await trx.dialect.reserveIds(trx, 'events', start)
  await writeCursor(trx, prunedCursor, start)
}
