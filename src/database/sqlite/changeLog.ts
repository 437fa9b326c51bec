import { sql } from 'kysely'
import type { Change, Db, Trx } from '../db.ts'
import { insertMany, preparedQuery } from '../preparedQuery.ts'

const insertChange = preparedQuery<
  [type: string, createdAt: number, data: string, isPrivate: number],
  unknown
>((db) => db.insertInto('events').values({ type: '', created_at: 0, data: '', is_private: 0 }))

const insertChanges = insertMany('events', ['type', 'created_at', 'data', 'is_private'])

const toRow = ({ type, createdAt, data, isPrivate }: Change) =>
  [type, createdAt, data, Number(isPrivate)] as const

export async function appendChanges(trx: Trx, changes: readonly Change[]): Promise<void> {
  const [first] = changes
  if (changes.length === 1 && first) await insertChange(trx, ...toRow(first))
  else await insertChanges(trx, changes.map(toRow))
}

const selectNewestId = preparedQuery<[], { id: number }>((db) =>
  db.selectFrom('events').select('id').orderBy('id', 'desc').limit(sql.lit(1)),
)

/** The newest id of the change log. */
export const newestChangeId = (db: Db): number =>
  (selectNewestId(db) as readonly { id: number }[])[0]?.id ?? 0
