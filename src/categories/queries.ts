import { lockCursor, readCursor, writeCursor } from '../database/cursors.ts'
import type { Db, Trx } from '../database/db.ts'
import { firstOf, insertMany, preparedQuery } from '../database/preparedQuery.ts'
import { recordEvent, recordEvents } from '../events/queries.ts'
import { type Category, foldedName } from './category.ts'

const lastAssignedIdCursor = 'categories.assigned'
const gapSearchRowsMax = 500

const insertUnnamed = preparedQuery<[id: bigint], { category_id: bigint }>((db) =>
  db
    .insertInto('categories')
    .values({ category_id: 0n })
    .onConflict((conflict) => conflict.doNothing())
    .returning('category_id'),
)

const insertAllUnnamed = insertMany('categories', ['category_id'], (insert) =>
  insert.onConflict((conflict) => conflict.doNothing()).returning('category_id'),
)

const selectForKeyShare = preparedQuery<[id: bigint], { category_id: bigint }>((db) =>
  db.selectFrom('categories').select('category_id').where('category_id', '=', 0n).forKeyShare(),
)

/** Prevents the removal of the category until the end of the transaction. Returns false if it does not exist. */
export const lockCategory = async (trx: Trx, id: bigint): Promise<boolean> =>
  (await selectForKeyShare(trx, id)).length > 0

/** Creates the category without a name if it does not exist. */
export async function ensureCategory(trx: Trx, id: bigint, now: number): Promise<void> {
  const added = await insertUnnamed(trx, id)
  if (added.length > 0) await recordEvent(trx, now, 'category.created', { id })
}

/** The same for many categories. */
export async function ensureCategories(trx: Trx, ids: readonly bigint[], now: number): Promise<void> {
  // In order, so that transactions do not wait for each other in a circle.
  const sorted = [...new Set(ids)].sort((a, b) => (a < b ? -1 : 1))
  if (sorted.length === 0) return
  const added = await insertAllUnnamed(
    trx,
    sorted.map((id) => [id]),
  )
  const events = added.map(({ category_id: id }) => ({ type: 'category.created', data: { id } }) as const)
  if (events.length > 0) await recordEvents(trx, now, events)
}

/** Categories above an id, in order of id. */
export async function listCategories(db: Db, limit: number, aboveId?: bigint): Promise<Category[]> {
  let query = db.selectFrom('categories').selectAll().orderBy('category_id').limit(limit)
  if (aboveId !== undefined) query = query.where('category_id', '>', aboveId)
  return (await query.execute()).map(toCategory)
}

/** Locks the assignment of ids and of names by requests. Returns the last assigned id. */
export const lockCategoryIds = (trx: Trx): Promise<number> => lockCursor(trx, lastAssignedIdCursor)

const namesPerRead = 1_000

/** Another category with this name, in any case. Only a transaction that has locked the ids can rely on the result. */
export async function findCategoryByName(trx: Trx, name: string, exceptId?: bigint) {
  const folded = foldedName(name)
  const named = trx.selectFrom('categories').selectAll().where('name', 'is not', null)
  const pages = named.orderBy('category_id').limit(namesPerRead)
  let query = pages
  for (;;) {
    const page = (await query.execute()).map(toCategory)
    const found = page.find((one) => one.id !== exceptId && foldedName(one.name ?? '') === folded)
    const last = page.at(-1)
    if (found || !last || page.length < namesPerRead) return found
    query = pages.where('category_id', '>', last.id)
  }
}

const namedMax = 10_000

/** Categories with a name, in order of id. */
export async function findNamedCategories(db: Db): Promise<Category[]> {
  const query = db.selectFrom('categories').selectAll().where('name', 'is not', null)
  return (await query.orderBy('category_id').limit(namedMax).execute()).map(toCategory)
}

const categoryById = (db: Db, id: bigint) =>
  db.selectFrom('categories').selectAll().where('category_id', '=', id)

export const findCategory = (db: Db, id: bigint) => firstOf(categoryById(db, id), toCategory)

/** Locks the category against changes, and against pets that begin to refer to it. */
export const findCategoryForUpdate = (trx: Trx, id: bigint) =>
  firstOf(categoryById(trx, id).forUpdate(), toCategory)

/** Locks the category against changes, but not against pets that refer to it: they do not delay a new name. */
export const findCategoryToRename = (trx: Trx, id: bigint) =>
  firstOf(categoryById(trx, id).forNoKeyUpdate(), toCategory)

/** Adds a category with the next free id. `lastId` is the last assigned one, if the transaction has locked it. */
export async function createCategory(trx: Trx, name: string, now: number, lastId?: number) {
  const id = await assignId(trx, name, lastId ?? (await lockCategoryIds(trx)))
  await recordEvent(trx, now, 'category.created', { id, name })
  return { id, name }
}

export async function updateCategory(trx: Trx, category: Category, now: number): Promise<void> {
  const { id, name = null } = category
  await trx.send(trx.updateTable('categories').set({ name }).where('category_id', '=', id))
  await recordEvent(trx, now, 'category.updated', category)
}

export async function isCategoryUsed(db: Db, id: bigint): Promise<boolean> {
  const users = db.selectFrom('pets').select('id').where('category_id', '=', id).limit(1)
  return (await users.executeTakeFirst()) !== undefined
}

export async function deleteCategory(trx: Trx, id: bigint, now: number): Promise<void> {
  await trx.send(trx.deleteFrom('categories').where('category_id', '=', id))
  await recordEvent(trx, now, 'category.deleted', { id })
}

/** The highest id that the service has assigned, even if the category was removed. */
export const lastAssignedCategoryId = (db: Db): Promise<number> => readCursor(db, lastAssignedIdCursor)

/** Prevents ids up to this one from being assigned again. */
export async function reserveCategoryIds(trx: Trx, upTo: number): Promise<void> {
  if ((await lockCategoryIds(trx)) >= upTo) return
  await writeCursor(trx, lastAssignedIdCursor, upTo)
}

/** Inserts a category with the next id after the last assigned one that no pet has introduced. */
async function assignId(trx: Trx, name: string, lastId: number): Promise<bigint> {
  let id = BigInt(lastId) + 1n
  for (;;) {
    const taken = await trx
      .selectFrom('categories')
      .select('category_id')
      .where('category_id', '>=', id)
      .orderBy('category_id')
      .limit(gapSearchRowsMax)
      .execute()
    for (const { category_id } of taken) if (category_id === id) id++
    const inserted = await trx
      .insertInto('categories')
      .values({ category_id: id, name })
      // The id may be taken: beyond the rows that were read, or by a pet that introduces it at the same time.
      .onConflict((conflict) => conflict.doNothing())
      .returning('category_id')
      .execute()
    if (inserted.length > 0) break
  }
  await writeCursor(trx, lastAssignedIdCursor, Number(id))
  return id
}

const toCategory = (row: { category_id: bigint; name: string | null }): Category => ({
  id: row.category_id,
  name: row.name ?? undefined,
})
