import * as z from 'zod'
import { ApiError } from '../api/errors.ts'
import { type Operation, type OperationResult, operation, respond } from '../api/operation.ts'
import { openCursor, pageAnswer, sealCursor } from '../api/pagination.ts'
import { int64, int64Text, notBlankPattern, pageCursor, pageLimit } from '../api/validation.ts'
import type { Database } from '../database/database.ts'
import { type Category, categoryNameLengthMax, isCategoryName } from './category.ts'
import {
  addCategory,
  findCategory,
  isCategoryUsed,
  listCategories,
  removeCategory,
  renameCategory,
  serializeCategory as shown,
} from './queries.ts'

const categoryName = z
  .string()
  .refine(isCategoryName, `must be 1 to ${categoryNameLengthMax} characters and not blank`)
  .meta({
    minLength: 1,
    maxLength: categoryNameLengthMax,
    pattern: notBlankPattern,
    description: "The category's name; not blank.",
  })
const newCategory = z
  .object({ name: categoryName })
  .meta({ id: 'NewCategory', description: 'A category to add; the service picks the id.' })
const categoryChange = z
  .object({ name: categoryName.nullable().optional() })
  .meta({ id: 'CategoryChange', description: 'What is to change. `null` takes the name away.' })
export const categorySchema = z
  .object({ id: int64().meta({ description: 'Any int64.' }), name: categoryName.optional() })
  .meta({ id: 'Category', description: 'A kind of animal. One that came with an animal has no name yet.' })
const categories = z
  .array(categorySchema)
  .meta({ id: 'Categories', description: 'One page of categories, in the order of their ids.' })

const cursorForm = z.tuple([int64Text()])
const example = { id: 3, name: 'Rabbits' }
const params = z.object({ categoryId: int64Text().meta({ description: 'The identifier of the category.' }) })

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
      query: z.object({
        limit: pageLimit(),
        cursor: pageCursor(),
      }),
      responses: {
        200: {
          description: 'One page of categories.',
          schema: categories,
          optionalHeaders: { Link: 'Where the next page is, with `rel="next"`; absent on the last page.' },
          example: [example],
        },
      },
      errors: ['validation_failed', 'invalid_cursor'],
      async read({ query: { limit, cursor } }) {
        const aboveId = cursor === undefined ? undefined : openCursor('categories', cursorForm, cursor)[0]
        const found = await listCategories(read, limit + 1, aboveId)
        return pageAnswer(found, shown, {
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
      body: newCategory,
      bodyExample: { name: 'Rabbits' },
      responses: {
        201: {
          description: 'The category was added.',
          schema: categorySchema,
          headers: { Location: 'Where the category is.' },
          example,
        },
      },
      errors: ['malformed_json', 'validation_failed'],
      async write({ body }, { trx, now }) {
        const added = await addCategory(trx, body.name, now)
        return respond(201, shown(added), { Location: `${publicUrl ?? ''}/v1/categories/${added.id}` })
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
      errors: ['category_not_found'],
      async read({ params: { categoryId } }) {
        return respond(200, shown(orNotFound(await findCategory(read, categoryId))))
      },
    }),

    operation({
      ...one,
      id: 'updateCategory',
      method: 'PATCH',
      path: '/categories/{categoryId}',
      summary: 'Name a category',
      scope: 'categories:write',
      body: categoryChange,
      bodyExample: { name: 'Rabbits' },
      responses: { 200: { description: 'The category after the change.', schema: categorySchema, example } },
      errors: ['malformed_json', 'validation_failed', 'category_not_found'],
      async write({ params: { categoryId }, body }, { trx, now }) {
        const found = orNotFound(await findCategory(trx, categoryId))
        const name = body.name === undefined ? found.name : (body.name ?? undefined)
        return respond(
          200,
          shown(name === found.name ? found : await renameCategory(trx, categoryId, name, now)),
        )
      },
    }),

    operation({
      ...one,
      id: 'deleteCategory',
      method: 'DELETE',
      path: '/categories/{categoryId}',
      summary: 'Remove a category',
      description: 'Only while no animal uses it.',
      scope: 'categories:write',
      responses: { 204: { description: 'The category was removed.' } },
      errors: ['category_not_found', 'category_in_use'],
      async write({ params: { categoryId } }, { trx, now }): Promise<OperationResult> {
        orNotFound(await findCategory(trx, categoryId))
        if (await isCategoryUsed(trx, categoryId)) throw new ApiError('category_in_use')
        await removeCategory(trx, categoryId, now)
        return { status: 204 }
      },
    }),
  ]
}

function orNotFound(found: Category | undefined): Category {
  if (!found) throw new ApiError('category_not_found')
  return found
}
