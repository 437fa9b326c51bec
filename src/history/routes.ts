import * as z from 'zod'
import { ApiError } from '../api/errors.ts'
import { defineOperation } from '../api/operation.ts'
import { ListCursor, pageQuery, pageReader } from '../api/pagination.ts'
import type { Database } from '../database/database.ts'
import { findPet } from '../pets/queries.ts'
import { petByIdOperation, petErrors } from '../pets/schemas.ts'
import { findHistory } from './queries.ts'
import { historySchema, serializeEntry } from './schemas.ts'

export const getHistoryOperation = (database: Database) =>
  defineOperation('listPetHistory', 'GET /pets/{petId}/history', {
    ...petByIdOperation,
    stability: 'beta',
    summary: 'List what happened to an animal',
    description:
      'Returns one page of the changes of the animal, its profile, its photos and its orders, newest first, with who made them. Changes are kept for 30 days. Those of orders require the scope `orders:read`.',
    scope: 'pets:write',
    query: z.object(pageQuery),
    responses: { 200: { description: 'One page of changes.', schema: historySchema } },
    async read({ params: { petId }, query }, context) {
      const id = Number(petId)
      const includesOrders = context.principal.scopes.has('orders:read')
      const through = await database.readableThrough()
      const read = pageReader(
        new ListCursor(`history ${id}`),
        (db, limit, below) => findHistory(db, id, { limit, below, through, includesOrders }),
        serializeEntry,
      )
      const page = await read({ query }, context)
      // The history of an animal that was removed is still there.
      if (page.json === '[]' && !(await findPet(context.db, petId)))
        throw new ApiError(petErrors.pet_not_found)
      return page
    },
  })
