import * as z from 'zod'
import { requireSameFilters } from '../api/lists.ts'
import { openCursor, sealCursor } from '../api/pagination.ts'
import { int64Text } from '../api/validation.ts'
import { petStatuses } from './pet.ts'
import type { PetFilter } from './queries.ts'

/** The start of a page, and the filters of the list that it belongs to. */
type PetCursor = { belowId: number; filter: PetFilter }

/** The maximum number of ids that a list can be filtered by. */
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

export function decodePetCursor(cursor: string, sent: PetFilter): PetCursor {
  const [belowId, status, categoryId, ids] = openCursor('pets', payload, cursor)
  const filter = { status: status ?? undefined, categoryId: categoryId ?? undefined, ids: ids ?? undefined }
  requireSameFilters(sent, filter)
  return { belowId, filter }
}
