import { sql } from 'kysely'
import type { Db } from '../database/db.ts'

type HistoryPage = {
  readonly limit: number
  readonly below: number | undefined
  /** Later events are not durable yet. */
  readonly through: number
  readonly includesOrders: boolean
}

export type HistoryRow = Awaited<ReturnType<typeof findHistory>>[number]

/** The events about a pet, newest first, with the names of the keys that made the changes. */
export function findHistory(db: Db, petId: number, { limit, below, through, includesOrders }: HistoryPage) {
  const keyId = sql<number>`CASE WHEN actor LIKE 'key %' THEN CAST(substr(actor, 5) AS bigint) END`
  return (
    db
      .selectFrom('events')
      .leftJoin('api_keys', (join) => join.on('api_keys.id', '=', keyId))
      .select(['events.id', 'type', 'events.created_at', 'data', 'actor', 'api_keys.name'])
      .where(db.dialect.changeSubject, '=', petId)
      // As in the partial index.
      .where('events.id', 'is not', null)
      .where('events.id', '<', Math.min(below ?? Number.MAX_SAFE_INTEGER, through + 1))
      .$if(!includesOrders, (events) => events.where('type', 'not like', 'order.%'))
      .orderBy('events.id', 'desc')
      .limit(limit)
      .execute()
  )
}
