import * as z from 'zod'
import { statuses } from './pets.ts'

export const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  status: z.enum(statuses).optional(),
})

export const petId = z.coerce.number().int().positive()

export const newPet = z.object({
  name: z.string().min(1).max(100),
  categoryId: z.int(),
  status: z.enum(statuses).optional(),
})
