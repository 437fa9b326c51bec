import { readCursor, writeCursor } from '../database/cursors.ts'
import { preparedQuery } from '../database/preparedQuery.ts'
import type { Db } from '../database/tables.ts'
import { recordEvent } from '../events/queries.ts'
import type { Category } from './category.ts'

const lastAssignedIdCursor = 'categories.assigned'
const gapSearchRowsMax = 500

const insertUnnamed = preparedQuery<[id: bigint], { category_id: bigint }>((db) =>
  db
    .insertInto('categories')
    .values({ category_id: 0n })
    .onConflict((conflict) => conflict.doNothing())
    .returning('category_id'),
)

/** Creates the category without a name if it does not exist. */
export async function ensureCategory(trx: Db, id: bigint, now: number): Promise<void> {
  const added = await insertUnnamed(trx, id)
  if (added.length > 0) await recordEvent(trx, now, 'category.created', { id })
}

/** Categories above an id, in order of id. */
export async function listCategories(db: Db, limit: number, aboveId?: bigint): Promise<Category[]> {
  let query = db.selectFrom('categories').selectAll().orderBy('category_id').limit(limit)
  if (aboveId !== undefined) query = query.where('category_id', '>', aboveId)
  return (await query.execute()).map(toCategory)
}

export async function findCategory(db: Db, id: bigint): Promise<Category | undefined> {
  const row = await db.selectFrom('categories').selectAll().where('category_id', '=', id).executeTakeFirst()
  return row && toCategory(row)
}

/** Adds a category with the next free id. */
export async function createCategory(trx: Db, name: string, now: number): Promise<Category> {
  const id = await nextFreeId(trx)
  await trx.insertInto('categories').values({ category_id: id, name }).execute()
  await recordEvent(trx, now, 'category.created', { id, name })
  return { id, name }
}

export async function updateCategory(trx: Db, category: Category, now: number): Promise<void> {
  const { id, name = null } = category
  await trx.updateTable('categories').set({ name }).where('category_id', '=', id).execute()
  await recordEvent(trx, now, 'category.updated', category)
}

export async function isCategoryUsed(db: Db, id: bigint): Promise<boolean> {
  const users = db.selectFrom('pets').select('id').where('category_id', '=', id).limit(1)
  return (await users.executeTakeFirst()) !== undefined
}

export async function deleteCategory(trx: Db, id: bigint, now: number): Promise<void> {
  await trx.deleteFrom('categories').where('category_id', '=', id).execute()
  await recordEvent(trx, now, 'category.deleted', { id })
}

/** The highest id that the service has assigned, even if the category was removed. */
export const lastAssignedCategoryId = (db: Db): Promise<number> => readCursor(db, lastAssignedIdCursor)

/** Prevents ids up to this one from being assigned again. */
export async function reserveCategoryIds(trx: Db, upTo: number): Promise<void> {
  if ((await lastAssignedCategoryId(trx)) >= upTo) return
  await writeCursor(trx, lastAssignedIdCursor, upTo)
}

/** The next id after the last assigned one that no pet has introduced. */
async function nextFreeId(trx: Db): Promise<bigint> {
  let id = BigInt(await lastAssignedCategoryId(trx)) + 1n
  for (;;) {
    const taken = await trx
      .selectFrom('categories')
      .select('category_id')
      .where('category_id', '>=', id)
      .orderBy('category_id')
      .limit(gapSearchRowsMax)
      .execute()
    const firstId = id
    for (const { category_id } of taken) if (category_id === id) id++
    if (id - firstId < BigInt(gapSearchRowsMax)) break
  }
  await reserveCategoryIds(trx, Number(id))
  return id
}

const toCategory = (row: { category_id: bigint; name: string | null }): Category => ({
  id: row.category_id,
  name: row.name ?? undefined,
})
