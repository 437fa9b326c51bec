import * as z from 'zod'
import { ApiError } from '../api/errors.ts'
import { nextPageLink } from '../api/lists.ts'
import { type Operation, type OperationResult, operation, respond } from '../api/operation.ts'
import { openCursor, pageAnswer, sealCursor } from '../api/pagination.ts'
import { int64Text, pageCursor, pageLimit } from '../api/validation.ts'
import type { Database } from '../database/database.ts'
import type { Category } from './category.ts'
import {
  addCategory,
  findCategory,
  isCategoryUsed,
  listCategories,
  removeCategory,
  renameCategory,
} from './queries.ts'
import {
  categoriesSchema,
  categoryChangeSchema,
  categorySchema,
  categoryExample as example,
  newCategorySchema,
} from './schemas.ts'

const cursorPayload = z.tuple([int64Text()])
const params = z.object({ categoryId: int64Text().meta({ description: 'The id of the category.' }) })

export function categoryRoutes({ read }: Database, publicUrl: string | undefined): Operation[] {
  const common = { tag: 'Store', stability: 'beta' } as const
  const one = { ...common, params, notFound: 'category_not_found' } as const
  return [
    operation({
      ...common,
      id: 'listCategories',
      cacheable: true,
      method: 'GET',
      path: '/categories',
      summary: 'List categories',
      scope: 'categories:read',
      query: z.object({ limit: pageLimit(), cursor: pageCursor() }),
      responses: {
        200: {
          description: 'One page of categories.',
          schema: categoriesSchema,
          optionalHeaders: nextPageLink,
          example: [example],
        },
      },
      async read({ query: { limit, cursor } }) {
        const aboveId = cursor === undefined ? undefined : openCursor('categories', cursorPayload, cursor)[0]
        const categories = await listCategories(read, limit + 1, aboveId)
        return pageAnswer(categories, (category) => category, {
          publicUrl,
          path: '/v1/categories',
          limit,
          cursorAfter: (last) => sealCursor('categories', [String(last.id)]),
        })
      },
    }),

    operation({
      ...common,
      id: 'createCategory',
      method: 'POST',
      path: '/categories',
      summary: 'Add a category',
      scope: 'categories:write',
      body: newCategorySchema,
      bodyExample: { name: 'Rabbits' },
      responses: {
        201: {
          description: 'The category was added.',
          schema: categorySchema,
          headers: { Location: 'The URL of the category.' },
          example,
        },
      },
      async write({ body }, { trx, now }) {
        const category = await addCategory(trx, body.name, now)
        return respond(201, category, { Location: `${publicUrl ?? ''}/v1/categories/${category.id}` })
      },
    }),

    operation({
      ...one,
      id: 'getCategory',
      cacheable: true,
      method: 'GET',
      path: '/categories/{categoryId}',
      summary: 'Get a category',
      scope: 'categories:read',
      responses: { 200: { description: 'The category.', schema: categorySchema, example } },
      async read({ params: { categoryId } }) {
        return respond(200, orNotFound(await findCategory(read, categoryId)))
      },
    }),

    operation({
      ...one,
      id: 'updateCategory',
      method: 'PATCH',
      path: '/categories/{categoryId}',
      summary: 'Change a category',
      scope: 'categories:write',
      body: categoryChangeSchema,
      bodyExample: { name: 'Rabbits' },
      responses: { 200: { description: 'The category after the change.', schema: categorySchema, example } },
      async write({ params: { categoryId }, body }, { trx, now }) {
        const category = orNotFound(await findCategory(trx, categoryId))
        const name = body.name === undefined ? category.name : (body.name ?? undefined)
        if (name === category.name) return respond(200, category)
        return respond(200, await renameCategory(trx, categoryId, name, now))
      },
    }),

    operation({
      ...one,
      id: 'deleteCategory',
      method: 'DELETE',
      path: '/categories/{categoryId}',
      summary: 'Remove a category',
      description: 'Removes a category that no animal uses.',
      scope: 'categories:write',
      responses: { 204: { description: 'The category was removed.' } },
      errors: ['category_in_use'],
      async write({ params: { categoryId } }, { trx, now }): Promise<OperationResult> {
        orNotFound(await findCategory(trx, categoryId))
        if (await isCategoryUsed(trx, categoryId)) throw new ApiError('category_in_use')
        await removeCategory(trx, categoryId, now)
        return { status: 204 }
      },
    }),
  ]
}

function orNotFound(category: Category | undefined): Category {
  if (!category) throw new ApiError('category_not_found')
  return category
}
