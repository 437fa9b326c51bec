import * as z from 'zod'
import { int64, nonBlankText } from '../api/validation.ts'
import type { Db, Trx } from '../database/db.ts'
import { recordEvent } from '../events/queries.ts'
import { oneByOne, type RecordChange, type Resource } from '../records/resource.ts'
import { findCategory, lastAssignedCategoryId, reserveCategoryIds, updateCategory } from './queries.ts'
import { categoryNameLengthMax } from './schemas.ts'

const schema = z.object({
  type: z.literal('category'),
  id: int64(),
  name: nonBlankText(categoryNameLengthMax).nullable(),
})
type CategoryRecord = z.output<typeof schema>

export const categoryResource: Resource<CategoryRecord, 'categories'> = {
  type: 'category',
  countName: 'categories',
  nouns: ['category', 'categories'],
  table: 'categories',
  idColumn: 'category_id',
  counter: { name: 'lastCategoryId', read: lastAssignedCategoryId, reserve: reserveCategoryIds },
  positions: [10],
  toRecords: (rows) => rows.map(({ name }) => ({ name })),
  schema,
  ...oneByOne(applyCategory, findCategoryChange),
}

async function findCategoryChange(db: Db, { id, name }: CategoryRecord): Promise<RecordChange> {
  const existing = await findCategory(db, id)
  if (!existing) return 'added'
  return (existing.name ?? null) === name ? 'unchanged' : 'changed'
}

async function applyCategory(trx: Trx, record: CategoryRecord, now: number) {
  const { id, name } = record
  const change = await findCategoryChange(trx, record)
  if (change === 'added') {
    await trx.insertInto('categories').values({ category_id: id, name }).execute()
    await recordEvent(trx, now, 'category.created', { id, name: name ?? undefined })
  } else if (change === 'changed') await updateCategory(trx, { id, name: name ?? undefined }, now)
  return [change] as const
}
