import { sql } from 'kysely'
import { toJson } from '../api/json.ts'
import { readCursor, writeCursor } from '../database/cursors.ts'
import type { SqlDialect } from '../database/dialect.ts'
import { insertMany, preparedQuery } from '../database/preparedQuery.ts'
import type { Db } from '../database/tables.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import { type EventType, type FeedEvent, isPrivateEvent } from './event.ts'

export const eventRetentionMs = 30 * 24 * 60 * 60 * 1000
const prunedCursor = 'events.pruned'
const pruneRowsMax = 1_000
/** More events than a running service records during a restore. */
const restartGap = 1_000_000

type NewEvent = { type: EventType; data: unknown }

const insertEvent = preparedQuery<
  [type: string, createdAt: number, data: string, isPrivate: number],
  unknown
>((db) => db.insertInto('events').values({ type: '', created_at: 0, data: '', is_private: 0 }))

const insertEvents = insertMany('events', ['type', 'created_at', 'data', 'is_private'])

const toRow = (now: number, type: EventType, data: unknown) =>
  [type, now, toJson(data), isPrivateEvent(type) ? 1 : 0] as const

/** Records an event in the transaction of the change. */
export const recordEvent = (trx: Db, now: number, type: EventType, data: unknown) =>
  insertEvent(trx, ...toRow(now, type, data))

export const recordEvents = (trx: Db, now: number, events: readonly NewEvent[]): Promise<void> =>
  insertEvents(
    trx,
    events.map(({ type, data }) => toRow(now, type, data)),
  )

const selectNewestId = preparedQuery<[], { id: number }>((db) =>
  db.selectFrom('events').select('id').orderBy('id', 'desc').limit(sql.lit(1)),
)

/** The id of the newest event, for `Database.trackDurable`. */
export const newestStoredEventId = (db: Db): MaybePromise<number> =>
  chain(selectNewestId(db), ([row]) => row?.id ?? 0)

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

/** The id up to which events were pruned. */
export const lastPrunedEventId = (db: Db): Promise<number> => readCursor(db, prunedCursor)

/** Deletes a bounded number of events that are older than the retention period. Returns how many. */
export async function pruneEvents(trx: Db, now: number): Promise<number> {
  const oldest = await trx
    .selectFrom('events')
    .select(['id', 'created_at'])
    .orderBy('id')
    .limit(pruneRowsMax)
    .execute()
  // Up to the first recent event: after the clock was set back, an old time can follow a recent one.
  const firstRecent = oldest.findIndex((row) => row.created_at > now - eventRetentionMs)
  const expired = firstRecent === -1 ? oldest : oldest.slice(0, firstRecent)
  const last = expired.at(-1)
  if (!last) return 0
  await trx.deleteFrom('events').where('id', '<=', last.id).execute()
  await writeCursor(trx, prunedCursor, last.id)
  return expired.length
}

/** Continues the feed of another database after its last id. Its earlier events count as pruned. */
export async function continueFeed(trx: Db, dialect: SqlDialect, lastId: number): Promise<void> {
  if (lastId <= (await dialect.lastAssignedId(trx, 'events'))) return
  await dialect.reserveIds(trx, 'events', lastId)
  await writeCursor(trx, prunedCursor, lastId)
}

/**
 * Restarts the feed far above every id that was ever assigned. Clients that followed the feed before a restore get
 * `events_expired` and list all resources again.
 */
export async function restartFeed(trx: Db, dialect: SqlDialect, lastSeenId: number): Promise<void> {
  const start = Math.max(lastSeenId, await lastEventId(trx, eventIdMax)) + restartGap
  await trx.deleteFrom('events').execute()
  await dialect.reserveIds(trx, 'events', start)
  await writeCursor(trx, prunedCursor, start)
}
