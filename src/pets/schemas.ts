import * as z from 'zod'
import { defineErrors } from '../api/errors.ts'
import { ListCursor, pageSchema } from '../api/pagination.ts'
import { int64, int64Text, nameText } from '../api/validation.ts'
import { petNameLengthMax, petStatuses } from './pet.ts'

export const petErrors = defineErrors({
  pet_not_found: [404, 'There is no animal with this id. GET /pets lists the existing ones.'],
  pet_has_open_order: [
    409,
    'This animal has an open order. Deliver or cancel it first. GET /store/orders?petId= shows it.',
  ],
})

/** What the operations on one animal have in common. */
export const petByIdOperation = {
  tag: 'Pets',
  params: z.object({ petId: int64Text().meta({ description: 'The id of the animal.' }) }),
  notFound: petErrors.pet_not_found,
} as const

const petStatusSchema = z.enum(petStatuses).meta({
  id: 'PetStatus',
  description:
    'Whether the animal can be adopted: `available`, reserved (`pending`) or already adopted (`sold`).',
})
const petName = nameText(petNameLengthMax, 'The name of the animal. It cannot be blank.')
const categoryId = int64().meta({
  description:
    'The id of the category of the animal. If the category does not exist, it is created without a name.',
})

export const newPetSchema = z.object({ name: petName, categoryId, status: petStatusSchema.optional() }).meta({
  id: 'NewPet',
  description: 'An animal to add. `status` defaults to `available`.',
  examples: [{ name: 'Milo', categoryId: 3 }],
})
export const petUpdateSchema = newPetSchema.partial().meta({
  id: 'PetChange',
  description: 'The fields to change. Fields that are left out keep their value.',
  examples: [{ status: 'pending' }],
})
export const petSchema = z
  .object({
    id: int64().meta({ description: 'The unique id of the animal, assigned by the service.' }),
    ...newPetSchema.shape,
  })
  .meta({
    id: 'Pet',
    description: 'An animal offered for adoption.',
    examples: [{ id: 42, name: 'Milo', categoryId: 3, status: 'available' }],
  })
export const petListSchema = pageSchema(petSchema, 'Pets', 'animals, newest first')

/** The maximum number of ids that a list can be filtered by. */
const petIdsMax = 100

export const petFilterSchema = z.object({
  status: petStatusSchema.optional().meta({ description: 'Only animals with this status.' }),
  categoryId: int64Text().optional().meta({ description: 'Only animals of this category.' }),
  id: z
    .array(int64Text())
    .max(petIdsMax)
    .optional()
    .meta({ description: `Only animals with these ids. Can be repeated up to ${petIdsMax} times.` }),
})
export const petCursor = new ListCursor('pets', petFilterSchema)
