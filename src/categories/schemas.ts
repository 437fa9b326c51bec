import * as z from 'zod'
import { defineErrors } from '../api/errors.ts'
import { pageSchema } from '../api/pagination.ts'
import { int64, nameText } from '../api/validation.ts'

export const categoryErrors = defineErrors({
  category_not_found: [404, 'There is no category with this id. GET /categories lists the existing ones.'],
  category_in_use: [409, 'Animals use this category. Move or remove them first.'],
  category_name_in_use: [409, 'Another category has this name. Choose another one.'],
})

export const categoryNameLengthMax = 255
const categoryNameSchema = nameText(categoryNameLengthMax, 'The name of the category. It cannot be blank.')
const example = { name: 'Rabbits' }
export const newCategorySchema = z.object({ name: categoryNameSchema }).meta({
  id: 'NewCategory',
  description: 'A category to add. The service assigns the id.',
  examples: [example],
})
export const categoryUpdateSchema = z.object({ name: categoryNameSchema.nullable().optional() }).meta({
  id: 'CategoryChange',
  description: 'The fields to change. `null` removes the name.',
  examples: [example],
})
export const categorySchema = z
  .object({ id: int64().meta({ description: 'Any int64.' }), name: categoryNameSchema.optional() })
  .meta({
    id: 'Category',
    description: 'A kind of animal. A category that was created by adding an animal has no name at first.',
    examples: [{ id: 3, ...example }],
  })
export const categoryListSchema = pageSchema(categorySchema, 'Categories', 'categories, in order of id')
