import type { Database } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'

/** A write that adds a category and returns its id. */
export const addCategory = (id: number) => async (trx: Trx) => {
  await trx
    .insertInto('categories')
    .values({ category_id: BigInt(id), name: null })
    .execute()
  return id
}

/** The ids of all categories. */
export const categories = async (database: Database) =>
  (await database.read.selectFrom('categories').select('category_id').orderBy('category_id').execute()).map(
    (row) => Number(row.category_id),
  )
