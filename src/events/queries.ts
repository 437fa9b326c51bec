import { type Kysely, sql } from 'kysely'
import { toJson } from '../api/json.ts'
import { readCursor, writeCursor } from '../database/cursors.ts'
import type { SqlDialect } from '../database/dialect.ts'
import { insertMany, preparedQuery } from '../database/preparedQuery.ts'
import type { Tables } from '../database/tables.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import { type EventType, type FeedEvent, isPrivateEvent } from './event.ts'

export const eventRetentionMs = 30 * 24 * 60 * 60 * 1000
const prunedCursor = 'events.pruned'
const pruneRowsMax = 1_000
/** More than a running service records while a restore goes on. */
const restartGap = 1_000_000

type NewEvent = { type: EventType; data: unknown }

const insertEvent = preparedQuery<
  [type: string, createdAt: number, data: string, isPrivate: number],
  unknown
>((db) => db.insertInto('events').values({ type: '', created_at: 0, data: '', is_private: 0 }))

const insertEvents = insertMany('events', ['type', 'created_at', 'data', 'is_private'])

/** Writes an event in the transaction of the change that it tells of. */
export const recordEvent = (
  trx: Kysely<Tables>,
  now: number,
  type: EventType,
  data: unknown,
): MaybePromise<readonly unknown[]> => insertEvent(trx, type, now, toJson(data), isPrivateEvent(type) ? 1 : 0)

/** The same for many. */
export const recordEvents = (trx: Kysely<Tables>, now: number, events: readonly NewEvent[]): Promise<void> =>
  insertEvents(
    trx,
    events.map(({ type, data }) => [type, now, toJson(data), isPrivateEvent(type) ? 1 : 0]),
  )

const selectNewestId = preparedQuery<[], { id: number }>((db) =>
  db.selectFrom('events').select('id').orderBy('id', 'desc').limit(sql.lit(1)),
)

/** The newest event's id, for `Database.trackDurable`. */
export const newestEventId = (db: Kysely<Tables>): MaybePromise<number> =>
  chain(selectNewestId(db), ([row]) => row?.id ?? 0)

/** In place of a durable position, for what reads inside of a transaction. */
export const eventIdMax = Number.MAX_SAFE_INTEGER

/** Events after a position, oldest first, as far as they are durable: up to the id `through`. */
export async function eventsAfter(
  db: Kysely<Tables>,
  after: number,
  limit: number,
  seesPrivate: boolean,
  through: number,
): Promise<FeedEvent[]> {
  let query = db
    .selectFrom('events')
    .selectAll()
    .where('id', '>', after)
    .where('id', '<=', through)
    .orderBy('id')
    .limit(limit)
  if (!seesPrivate) query = query.where('is_private', '=', sql.lit(0))
  const rows = await query.execute()
  return rows.map((row) => ({
    id: row.id,
    type: row.type as EventType,
    createdAt: row.created_at,
    data: row.data,
  }))
}

/** The id of the newest event up to the id `through`, or where the feed stood when there was one. */
export async function lastEventId(db: Kysely<Tables>, through: number): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select('id')
    .where('id', '<=', through)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.id ?? (await prunedThrough(db))
}

/** Events up to this id are no longer kept. */
export async function prunedThrough(db: Kysely<Tables>): Promise<number> {
  return readCursor(db, prunedCursor)
}

/** Lets go of a bounded number of events that are older than promised; answers how many. */
export async function pruneEvents(trx: Kysely<Tables>, now: number): Promise<number> {
  const old = await trx
    .selectFrom('events')
    .select(['id', 'created_at'])
    .orderBy('id')
    .limit(pruneRowsMax)
    .execute()
  // In the order of the feed, not of the times: a clock that was set back must not take younger events along.
  const firstKept = old.findIndex((row) => row.created_at > now - eventRetentionMs)
  const gone = firstKept === -1 ? old : old.slice(0, firstKept)
  const last = gone.at(-1)
  if (!last) return 0
  await trx.deleteFrom('events').where('id', '<=', last.id).execute()
  await writeCursor(trx, prunedCursor, last.id)
  return gone.length
}

/** Lets the feed go on where that of another store stood; what came before is not kept here. */
export async function continueFeed(trx: Kysely<Tables>, dialect: SqlDialect, lastId: number): Promise<void> {
  if (lastId <= (await dialect.lastAssignedId(trx, 'events'))) return
  await dialect.reserveIds(trx, 'events', lastId)
  await writeCursor(trx, prunedCursor, lastId)
}

/**
 * Begins the feed anew, far above every id that anybody has seen: the store is another one now, and whoever followed the
 * old one must list it again.
 */
export async function restartFeed(
  trx: Kysely<Tables>,
  dialect: SqlDialect,
  lastSeenId: number,
): Promise<void> {
  const start = Math.max(lastSeenId, await lastEventId(trx, eventIdMax)) + restartGap
  await trx.deleteFrom('events').execute()
  await dialect.reserveIds(trx, 'events', start)
  await writeCursor(trx, prunedCursor, start)
}
