import * as z from 'zod'
import { defineOperation, type Operation, respond } from '../api/operation.ts'
import { petStatuses } from '../pets/pet.ts'

const count = z.int().meta({ format: 'int64', minimum: 0 })
const inventorySchema = z.object({ available: count, pending: count, sold: count }).meta({
  id: 'Inventory',
  description: 'The number of animals with each status.',
  examples: [{ available: 31, pending: 4, sold: 112 }],
})

export const getInventoryOperation: Operation = defineOperation('getInventory', 'GET /store/inventory', {
  tag: 'Store',
  allowsReplica: true,
  summary: 'Count the animals',
  description:
    'Returns the number of animals with each status. The cost is constant, because the database updates the counts with every change.',
  stability: 'beta',
  scope: 'pets:read',
  responses: { 200: { description: 'The counts.', schema: inventorySchema } },
  async read(_input, { db }) {
    return respond(200, await db.dialect.counters(db, petStatuses))
  },
})
