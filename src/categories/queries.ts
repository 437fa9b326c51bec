import type { Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'

/** A category comes into being, unnamed, with the first animal that names it. */
export async function ensureCategory(trx: Kysely<Tables>, categoryId: bigint): Promise<void> {
  await trx
    .insertInto('categories')
    .values({ category_id: categoryId, name: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
