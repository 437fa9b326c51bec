import type { Db } from './tables.ts'

/** The position that a reader of an ordered table has reached; 0 at the start. */
export async function readCursor(db: Db, name: string): Promise<number> {
  const row = await db.selectFrom('cursors').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value ?? 0
}

export async function writeCursor(trx: Db, name: string, value: number): Promise<void> {
  await trx
    .insertInto('cursors')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
