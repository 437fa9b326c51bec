import { sql } from 'kysely'
import { ApiError, apiErrors } from '../api/errors.ts'
import type { Db } from '../database/db.ts'
import { type PetStatus, petStatuses } from '../pets/pet.ts'
import { findPetsWithProfiles, type PetWithProfile } from '../profiles/queries.ts'
import { isIndexComplete } from './indexing.ts'
import { type Condition, conditionsOf, hasAge, type ListingFilter, meets, onOffer } from './query.ts'
import type { SearchIndex } from './searchIndex.ts'
import { searchIndexOf } from './searchIndexes.ts'
import { facetTermsOf, wordTermsOf } from './terms.ts'

/** Above every id that the service assigns. */
const petIdMax = Number.MAX_SAFE_INTEGER
/** How often the index is read for one page, if animals that it returns have just changed. */
const readsPerPageMax = 20
const rowsPerRead = 100
const retryAfterSeconds = '2'

/** One page of animals below an id that meet the filter, newest first. */
export async function findListings(
  db: Db,
  limit: number,
  belowId: number = petIdMax,
  filter: ListingFilter,
  now: number,
): Promise<PetWithProfile[]> {
  if (hasStatusFilterOnly(filter)) {
    const ids = await newestIds(db, limit, belowId, statusesOf(filter), filter.listed === 'any')
    return inOrder(await findPetsWithProfiles(db, ids))
  }
  return findIndexed(db, limit, filter, now, belowId, searchIndexOf(db).find)
}

/** The page of animals next above an id that meet the filter, newest first. */
export async function findListingsAbove(
  db: Db,
  limit: number,
  aboveId: number,
  filter: ListingFilter,
  now: number,
): Promise<PetWithProfile[]> {
  const found = await findIndexed(db, limit, filter, now, aboveId, searchIndexOf(db).findAbove)
  return found.toReversed()
}

const statusesOf = ({ status, isStaff }: ListingFilter) => status ?? (isStaff ? petStatuses : onOffer)

/** The animals that the index finds from a position on, in its order, as they are now. */
async function findIndexed(
  db: Db,
  limit: number,
  filter: ListingFilter,
  now: number,
  position: number,
  find: SearchIndex['find'],
): Promise<PetWithProfile[]> {
  const conditions = conditionsOf({ ...filter, status: statusesOf(filter) }, now)
  const isMatch = (animal: PetWithProfile) =>
    matches(animal, conditions) && hasAge(animal.profile, filter, now)
  const found: PetWithProfile[] = []
  let next = position
  for (let read = 0; read < readsPerPageMax; read++) {
    // An age group can exclude many animals of one month.
    const wanted = read === 0 ? limit : Math.max(limit - found.length, rowsPerRead)
    const [ids, isComplete] = await Promise.all([find(db, conditions, next, wanted), isIndexComplete(db)])
    if (!isComplete) throw unavailable('The search index is being built.')
    const animals = new Map((await findPetsWithProfiles(db, ids)).map((animal) => [animal.pet.id, animal]))
    found.push(...ids.flatMap((id) => animals.get(id) ?? []).filter(isMatch))
    if (found.length >= limit || ids.length < wanted) return found.slice(0, limit)
    next = ids.at(-1) as number
  }
  throw unavailable('Many of these animals have just changed.')
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

async function newestIds(
  db: Db,
  limit: number,
  belowId: number,
  statuses: readonly PetStatus[],
  includesUnlisted: boolean,
): Promise<number[]> {
  const page = async (filters: [column: string, value: unknown][]) => {
    const pets = db.selectFrom('pets').leftJoin('profiles', 'profiles.pet_id', 'pets.id').select('id')
    const query = db.dialect.keysetPage(pets, filters, belowId)
    const rows = await query
      .$if(!includesUnlisted, (listed) => listed.where(sql<boolean>`coalesce(listed, 1) = 1`))
      .limit(limit)
      .execute()
    return rows.map(({ id }) => id)
  }
  const wanted = new Set(statuses)
  if (petStatuses.every((status) => wanted.has(status))) return page([])
  const pages = await Promise.all([...wanted].map((status) => page([['status', status]])))
  return pages
    .flat()
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
