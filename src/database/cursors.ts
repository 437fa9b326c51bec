import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** How far something has come that goes through the store in order; 0 before it has begun. */
export async function readCursor(db: Kysely<Tables>, name: string): Promise<number> {
  const row = await db.selectFrom('positions').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value ?? 0
}

export async function writeCursor(trx: Kysely<Tables>, name: string, value: number): Promise<void> {
  await trx
    .insertInto('positions')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
