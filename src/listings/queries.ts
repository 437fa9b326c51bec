import { type RawBuilder, sql } from 'kysely'
import { ApiError, apiErrors } from '../api/errors.ts'
import type { Db } from '../database/db.ts'
import { type PetStatus, petStatuses } from '../pets/pet.ts'
import { findPetsWithProfiles, type PetWithProfile } from '../profiles/queries.ts'
import { indexStateOf } from './indexing.ts'
import { type Condition, conditionsOf, hasAge, type ListingFilter, meets, onOffer } from './query.ts'
import { searchIndexOf } from './searchIndexes.ts'
import { facetTermsOf, wordTermsOf } from './terms.ts'

/** Above every id that the service assigns. */
const petIdMax = Number.MAX_SAFE_INTEGER
/** How often the index is read for one page, if animals that it returns have just changed. */
const readsPerPageMax = 20
const rowsPerRead = 100
/** So many animals are read for a page that needs no index, if most of them are not listed. */
const readPerPageMax = 2_000
const retryAfterSeconds = '2'
/** A search fails if the index does not have a change that is older than this. */
const behindMaxMs = 5_000

export type FoundListings = {
  readonly animals: readonly PetWithProfile[]
  /** False if changes of the last seconds were not in the index yet. */
  readonly isCurrent: boolean
}

/** One page of animals below an id that meet the filter, newest first. */
export async function findListings(
  db: Db,
  limit: number,
  belowId: number = petIdMax,
  filter: ListingFilter,
  now: number,
): Promise<FoundListings> {
  if (hasStatusFilterOnly(filter)) {
    const ids = await newestIds(db, limit, belowId, statusesOf(filter), filter.listed === 'any')
    if (ids) return { animals: inOrder(await findPetsWithProfiles(db, ids)), isCurrent: true }
  }
  return findIndexed(db, limit, filter, now, 'find', belowId)
}

/** The page of animals next above an id that meet the filter, newest first. */
export const findListingsAbove = (
  db: Db,
  limit: number,
  aboveId: number,
  filter: ListingFilter,
  now: number,
): Promise<FoundListings> => findIndexed(db, limit, filter, now, 'findAbove', aboveId)

const statusesOf = ({ status, isStaff }: ListingFilter) => status ?? (isStaff ? petStatuses : onOffer)

/** The animals next to an id that meet the filter, newest first, by the index. */
async function findIndexed(
  db: Db,
  limit: number,
  filter: ListingFilter,
  now: number,
  direction: 'find' | 'findAbove',
  fromId: number,
): Promise<FoundListings> {
  const conditions = conditionsOf({ ...filter, status: statusesOf(filter) }, now)
  const isMatch = (animal: PetWithProfile) =>
    matches(animal, conditions) && hasAge(animal.profile, filter, now)
  const byDistance = (a: PetWithProfile, b: PetWithProfile) =>
    direction === 'find' ? b.pet.id - a.pet.id : a.pet.id - b.pet.id
  const found: PetWithProfile[] = []
  let isCurrent = true
  let from = fromId
  for (let read = 0; read < readsPerPageMax; read++) {
    // An age group can exclude many animals of one month.
    const wanted = read === 0 ? limit : Math.max(limit - found.length, rowsPerRead)
    const { ids, isBehind } = await findInIndex(
      db,
      searchIndexOf(db)[direction](conditions, from, wanted),
      now,
    )
    if (isBehind) isCurrent = false
    const animals = await findPetsWithProfiles(db, ids)
    found.push(...animals.filter(isMatch).sort(byDistance))
    if (found.length >= limit || ids.length < wanted)
      return { animals: inOrder(found.slice(0, limit)), isCurrent }
    from = direction === 'find' ? Math.min(...ids) : Math.max(...ids)
  }
  throw unavailable('Many of these animals have just changed.')
}

/** Reads the ids and the state of the index with one statement, so that both are of the same moment. */
async function findInIndex(db: Db, select: RawBuilder<{ id: number }>, now: number) {
  const query = sql<{ id: number | null; pending_since: number | null }>`
    WITH state AS MATERIALIZED (${indexStateOf(db)})
    SELECT id, pending_since FROM state LEFT JOIN (${select}) AS found ON true`
  const { rows } = await query.execute(db)
  const [first] = rows
  if (!first) throw unavailable('The search index is being built.')
  if ((first.pending_since ?? now) < now - behindMaxMs)
    throw unavailable('The search index does not have the latest changes yet.')
  return { ids: rows.flatMap(({ id }) => id ?? []), isBehind: first.pending_since !== null }
}

const unavailable = (reason: string) =>
  new ApiError(apiErrors.unavailable, `${reason} Retry after "Retry-After".`, {
    headers: { 'Retry-After': retryAfterSeconds },
  })

const inOrder = (animals: readonly PetWithProfile[]): PetWithProfile[] =>
  animals.toSorted((a, b) => b.pet.id - a.pet.id)

/** Whether the index of pets by status finds the animals. It is always complete. */
const hasStatusFilterOnly = ({
  status: _,
  isStaff: __,
  listed = 'true',
  ...others
}: ListingFilter): boolean =>
  listed !== 'false' && Object.values(others).every((value) => value === undefined)

/** Undefined if the page is behind too many animals that are not listed. The index finds it. */
async function newestIds(
  db: Db,
  limit: number,
  belowId: number,
  statuses: readonly PetStatus[],
  includesUnlisted: boolean,
): Promise<number[] | undefined> {
  const page = async (filters: [column: string, value: unknown][]): Promise<number[] | undefined> => {
    const pets = db.selectFrom('pets').leftJoin('profiles', 'profiles.pet_id', 'pets.id').select('id')
    const all = db.dialect.keysetPage(pets, filters, belowId).limit(limit)
    if (includesUnlisted) return (await all.execute()).map(({ id }) => id)
    const last = db.dialect
      .keysetPage(db.selectFrom('pets').select('id'), filters, belowId)
      .limit(1)
      .offset(readPerPageMax)
    const rows = await all
      .where(sql<boolean>`coalesce(listed, 1) = 1`)
      .where(sql<boolean>`id >= coalesce((${last}), 0)`)
      .execute()
    const isCut = rows.length < limit && (await last.execute()).length > 0
    return isCut ? undefined : rows.map(({ id }) => id)
  }
  const wanted = new Set(statuses)
  if (petStatuses.every((status) => wanted.has(status))) return page([])
  const pages = await Promise.all([...wanted].map((status) => page([['status', status]])))
  if (pages.includes(undefined)) return undefined
  return pages
    .flatMap((ids) => ids ?? [])
    .sort((a, b) => b - a)
    .slice(0, limit)
}

/** The index may be a moment behind. Words are checked last, because that takes the most time. */
function matches({ pet, profile }: PetWithProfile, conditions: readonly Condition[]): boolean {
  const words = conditions.filter(({ isWord }) => isWord)
  const facets = conditions.filter(({ isWord }) => !isWord)
  return (
    meets(facetTermsOf(pet, profile), facets) &&
    (words.length === 0 || meets(wordTermsOf(pet, profile), words))
  )
}
