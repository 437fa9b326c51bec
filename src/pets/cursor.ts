import { ApiError } from '../http/errors.ts'
import { openCursor, sealCursor } from '../http/paging.ts'
import type { PetStatus } from './pet.ts'
import type { PetFilter } from './queries.ts'

/** Where a page begins, and the filters of the list that it is a page of. */
export type PetCursor = { belowId: number; filter: PetFilter }

type Payload = [belowId: number, status: PetStatus | null, categoryId: string | null, ids: string[] | null]

export function sealPetCursor({ belowId, filter }: PetCursor): string {
  const { status, categoryId, ids } = filter
  return sealCursor('pets', [
    belowId,
    status ?? null,
    categoryId?.toString() ?? null,
    ids?.map(String) ?? null,
  ] satisfies Payload)
}

/** A cursor carries its filters: those that are given beside it must be the same, those that are not are the cursor's. */
export function openPetCursor(cursor: string, given: PetFilter): PetCursor {
  const [belowId, status, categoryId, ids] = openCursor('pets', cursor) as Payload
  const filter: PetFilter = {
    status: status ?? undefined,
    categoryId: categoryId === null ? undefined : BigInt(categoryId),
    ids: ids?.map(BigInt),
  }
  const isOther =
    (given.status !== undefined && given.status !== filter.status) ||
    (given.categoryId !== undefined && given.categoryId !== filter.categoryId) ||
    (given.ids !== undefined && given.ids.join() !== filter.ids?.join())
  if (isOther) throw new ApiError('invalid_cursor')
  return { belowId, filter }
}
