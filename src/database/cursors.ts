import type { Db, Trx } from './db.ts'

/** The position that a reader of an ordered table has reached; 0 at the start. */
export async function readCursor(db: Db, name: string): Promise<number> {
  const row = await db.selectFrom('cursors').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value ?? 0
}

/** Locks the position until the end of the transaction and returns it. */
export async function lockCursor(trx: Trx, name: string): Promise<number> {
  const { value } = await trx
    .insertInto('cursors')
    .values({ name, value: 0 })
    // The row must exist to be locked, and updating it returns its latest version.
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((eb) => ({ value: eb.ref('cursors.value') })),
    )
    .returning('value')
    .executeTakeFirstOrThrow()
  return value
}

export async function writeCursor(trx: Trx, name: string, value: number): Promise<void> {
  const insert = trx.insertInto('cursors').values({ name, value })
  await trx.send(insert.onConflict((conflict) => conflict.column('name').doUpdateSet({ value })))
}

export const listCursors = (db: Db, prefix: string): Promise<{ name: string; value: number }[]> =>
  db.selectFrom('cursors').select(['name', 'value']).where('name', 'like', `${prefix}%`).execute()

/** Lowers the positions that are higher than this. */
export async function lowerCursors(trx: Trx, prefix: string, value: number): Promise<void> {
  const cursors = trx.updateTable('cursors').where('name', 'like', `${prefix}%`)
  await cursors.where('value', '>', value).set({ value }).execute()
}

export async function deleteCursors(trx: Trx, prefix: string): Promise<void> {
  await trx.deleteFrom('cursors').where('name', 'like', `${prefix}%`).execute()
}
