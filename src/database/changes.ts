import { type CompiledQuery, sql } from 'kysely'
import { insertMany, preparedQuery, type Statement } from './preparedQuery.ts'
import type { Db } from './tables.ts'

/** A row of the change log. */
export type Change = {
  readonly type: string
  readonly createdAt: number
  readonly data: string
  readonly isPrivate: boolean
}

/** What the last statements of a PostgreSQL transaction write, after it has locked all rows that it needs. */
export type PendingChanges = {
  readonly log: Change[]
  /** Sends a statement without waiting for its result. The commit reports its error. */
  send(statement: CompiledQuery): Promise<void>
}

const pendingChanges = new WeakMap<Db, PendingChanges>()

/** Collects the changes of a transaction. */
export function collectChanges(trx: Db, send: PendingChanges['send']): PendingChanges {
  const pending = { log: [], send }
  pendingChanges.set(trx, pending)
  return pending
}

const insertChange = preparedQuery<
  [type: string, createdAt: number, data: string, isPrivate: number],
  unknown
>((db) => db.insertInto('events').values({ type: '', created_at: 0, data: '', is_private: 0 }))

const insertChanges = insertMany('events', ['type', 'created_at', 'data', 'is_private'])

const toRow = ({ type, createdAt, data, isPrivate }: Change) =>
  [type, createdAt, data, Number(isPrivate)] as const

/** Appends to the change log in the transaction of the change. */
export async function logChanges(trx: Db, changes: readonly Change[]): Promise<void> {
  const pending = pendingChanges.get(trx)
  const [first] = changes
  if (pending) pending.log.push(...changes)
  else if (changes.length === 1 && first) await insertChange(trx, ...toRow(first))
  else await insertChanges(trx, changes.map(toRow))
}

/**
 * Locks a name until the end of the transaction, for what has no row to lock. SQLite has no other transaction to lock it
 * against.
 */
export async function lockName(trx: Db, name: string): Promise<void> {
  if (!pendingChanges.has(trx)) return
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || ${name}, 0))`.execute(
    trx,
  )
}

/**
 * Executes a statement whose result is not needed. PostgreSQL receives it together with the next statement, which saves a
 * round trip. If it fails, the transaction fails.
 */
export async function send(trx: Db, statement: Statement): Promise<void> {
  const pending = pendingChanges.get(trx)
  if (pending) await pending.send(statement.compile())
  else await statement.execute()
}

const selectNewestId = preparedQuery<[], { id: number }>((db) =>
  db.selectFrom('events').select('id').orderBy('id', 'desc').limit(sql.lit(1)),
)

/** The newest id of the change log in SQLite. */
export const newestChangeId = (db: Db): number =>
  (selectNewestId(db) as readonly { id: number }[])[0]?.id ?? 0
