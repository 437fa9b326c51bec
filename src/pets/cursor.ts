import * as z from 'zod'
import { ApiError } from '../api/errors.ts'
import { openCursor, sealCursor } from '../api/pagination.ts'
import { int64Text } from '../api/validation.ts'
import { petStatuses } from './pet.ts'
import type { PetFilter } from './queries.ts'

/** Where a page begins, and the filters of the list that it is a page of. */
type PetCursor = { belowId: number; filter: PetFilter }

/** How many ids a list can be asked for by. */
export const petIdsMax = 100

const payload = z.tuple([
  z.int(),
  z.enum(petStatuses).nullable(),
  int64Text().nullable(),
  z.array(int64Text()).max(petIdsMax).nullable(),
])

export function encodePetCursor({ belowId, filter }: PetCursor): string {
  const { status, categoryId, ids } = filter
  return sealCursor('pets', [
    belowId,
    status ?? null,
    categoryId?.toString() ?? null,
    ids?.map(String) ?? null,
  ] satisfies z.input<typeof payload>)
}

/** A cursor carries its filters: those that are given beside it must be the same, those that are not are the cursor's. */
export function decodePetCursor(cursor: string, given: PetFilter): PetCursor {
  const [belowId, status, categoryId, ids] = openCursor('pets', payload, cursor)
  const filter: PetFilter = {
    status: status ?? undefined,
    categoryId: categoryId ?? undefined,
    ids: ids ?? undefined,
  }
  const isOther =
    (given.status !== undefined && given.status !== filter.status) ||
    (given.categoryId !== undefined && given.categoryId !== filter.categoryId) ||
    (given.ids !== undefined && given.ids.join() !== filter.ids?.join())
  if (isOther) throw new ApiError('invalid_cursor')
  return { belowId, filter }
}
