import * as z from 'zod'
import { ApiError, apiErrors, orNotFound } from '../api/errors.ts'
import {
  etagHeader,
  ifMatchParameter,
  ifNoneMatchParameter,
  requireIfMatch,
  respondWithEtag,
} from '../api/etag.ts'
import { defineOperation, type Operation, respond } from '../api/operation.ts'
import { ListCursor, pageQuery, pageReader } from '../api/pagination.ts'
import { int64Text } from '../api/validation.ts'
import type { Category } from './category.ts'
import {
  createCategory,
  deleteCategory,
  findCategory,
  findCategoryByName,
  findCategoryForUpdate,
  findCategoryToRename,
  isCategoryUsed,
  listCategories,
  lockCategoryIds,
  updateCategory,
} from './queries.ts'
import {
  categoryErrors,
  categoryListSchema,
  categorySchema,
  categoryUpdateSchema,
  newCategorySchema,
} from './schemas.ts'

const categoryCursor = new ListCursor<object, bigint>('categories', undefined, int64Text())
const params = z.object({ categoryId: int64Text().meta({ description: 'The id of the category.' }) })
const categoryOperation = { tag: 'Store', stability: 'beta' } as const
const categoryByIdOperation = { ...categoryOperation, params, notFound: categoryErrors.category_not_found }

/** Imports and restores do not check it: they keep what was stored. */
function requireNoOther(other: Category | undefined): void {
  if (!other) return
  const message = `Category ${other.id} has the name "${other.name}". Choose another name, or use that category.`
  throw new ApiError(categoryErrors.category_name_in_use, message)
}

const listCategoriesOperation = defineOperation('listCategories', 'GET /categories', {
  ...categoryOperation,
  cacheable: true,
  allowsReplica: true,
  summary: 'List categories',
  scope: 'categories:read',
  query: z.object(pageQuery),
  responses: { 200: { description: 'One page of categories.', schema: categoryListSchema } },
  read: pageReader(categoryCursor, listCategories),
})

const createCategoryOperation = defineOperation('createCategory', 'POST /categories', {
  ...categoryOperation,
  summary: 'Add a category',
  scope: 'categories:write',
  body: newCategorySchema,
  // Each of them locks the last id that was assigned.
  subject: () => 'category ids',
  responses: {
    201: { description: 'The category was added.', schema: categorySchema, headers: etagHeader },
  },
  location: ({ id }) => `/categories/${id}`,
  errors: [categoryErrors.category_name_in_use],
  async write({ body }, { trx, now }) {
    const lastId = await lockCategoryIds(trx)
    requireNoOther(await findCategoryByName(trx, body.name))
    return respondWithEtag(201, await createCategory(trx, body.name, now, lastId))
  },
})

const getCategoryOperation = defineOperation('getCategory', 'GET /categories/{categoryId}', {
  ...categoryByIdOperation,
  cacheable: true,
  allowsReplica: true,
  summary: 'Get a category',
  scope: 'categories:read',
  requestHeaders: ifNoneMatchParameter,
  responses: {
    200: { description: 'The category.', schema: categorySchema, headers: etagHeader },
    304: { description: 'The category has not changed.', headers: etagHeader },
  },
  async read({ params: { categoryId } }, { db }) {
    const category = await findCategory(db, categoryId)
    return respondWithEtag(200, orNotFound(category, categoryErrors.category_not_found))
  },
})

const updateCategoryOperation = defineOperation('updateCategory', 'PATCH /categories/{categoryId}', {
  ...categoryByIdOperation,
  summary: 'Change a category',
  scope: 'categories:write',
  body: categoryUpdateSchema,
  requestHeaders: ifMatchParameter,
  responses: {
    200: { description: 'The category after the change.', schema: categorySchema, headers: etagHeader },
  },
  errors: [categoryErrors.category_name_in_use, apiErrors.precondition_failed],
  async write({ params: { categoryId }, body }, context) {
    const { trx, now } = context
    // Before the category, as when one is added.
    if (body.name) await lockCategoryIds(trx)
    const found = await findCategoryToRename(trx, categoryId)
    const category = orNotFound(found, categoryErrors.category_not_found)
    requireIfMatch(category, context)
    const { id, name } = category
    const next = { id, name: body.name === undefined ? name : (body.name ?? undefined) }
    if (next.name !== name) {
      if (next.name !== undefined) requireNoOther(await findCategoryByName(trx, next.name, id))
      await updateCategory(trx, next, now)
    }
    return respondWithEtag(200, next)
  },
})

const deleteCategoryOperation = defineOperation('deleteCategory', 'DELETE /categories/{categoryId}', {
  ...categoryByIdOperation,
  summary: 'Remove a category',
  description: 'Removes a category that no animal uses.',
  scope: 'categories:write',
  requestHeaders: ifMatchParameter,
  responses: { 204: { description: 'The category was removed.' } },
  errors: [categoryErrors.category_in_use, apiErrors.precondition_failed],
  async write({ params: { categoryId } }, context) {
    const { trx, now } = context
    // Before the lock too: while animals are added all the time, a removal could wait for the lock without end.
    if (await isCategoryUsed(trx, categoryId)) throw new ApiError(categoryErrors.category_in_use)
    const [category, isUsed] = await Promise.all([
      findCategoryForUpdate(trx, categoryId),
      isCategoryUsed(trx, categoryId),
    ])
    requireIfMatch(orNotFound(category, categoryErrors.category_not_found), context)
    if (isUsed) throw new ApiError(categoryErrors.category_in_use)
    await deleteCategory(trx, categoryId, now)
    return respond(204)
  },
})

export const categoryRoutes: Operation[] = [
  listCategoriesOperation,
  createCategoryOperation,
  getCategoryOperation,
  updateCategoryOperation,
  deleteCategoryOperation,
]
