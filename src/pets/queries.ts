import { type Expression, sql } from 'kysely'
import { ensureCategory } from '../categories/queries.ts'
import type { Db, Trx } from '../database/db.ts'
import { firstOf, insertReturningId, preparedQuery, preparedStatement } from '../database/preparedQuery.ts'
import { recordEvent } from '../events/queries.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import { adoptedOnFor, type NewPet, type Pet, type PetStatus, type PetUpdate } from './pet.ts'

export type PetFilter = {
  status?: PetStatus | undefined
  categoryId?: bigint | undefined
  id?: readonly bigint[] | undefined
}

/** Above every id that the service assigns. */
const petIdMax = Number.MAX_SAFE_INTEGER
const isPetId = (id: bigint): boolean => id >= 1n && id <= BigInt(petIdMax)
export const petColumns = ['id', 'name', 'category_id', 'status'] as const

/** One page of pets below an id, newest first. An index covers every combination of filters. */
export function petsPageQuery(
  db: Db,
  limit: number,
  belowId = petIdMax,
  { status, categoryId, id: ids }: PetFilter,
) {
  const query = db.selectFrom('pets').select(petColumns)
  const filters: [column: 'category_id' | 'status', value: unknown][] = []
  if (categoryId !== undefined) filters.push(['category_id', categoryId])
  if (status !== undefined) filters.push(['status', status])
  if (ids === undefined) return db.dialect.keysetPage(query, filters, belowId).limit(limit)
  // The primary key returns the given ids in order. The other columns are wrapped in an expression to keep the planner
  // from choosing one of their indexes, which would need a sort.
  let page = db.dialect.keysetPage(
    query.where(db.dialect.isIn('id', ids.filter(isPetId).map(Number))),
    [],
    belowId,
  )
  for (const [column, value] of filters)
    page = page.where(sql`coalesce(${sql.ref(column)}, NULL)`, '=', value)
  return page.limit(limit)
}

export async function listPets(...page: Parameters<typeof petsPageQuery>): Promise<Pet[]> {
  return (await petsPageQuery(...page).execute()).map(toPet)
}

export function findPet(db: Db, id: bigint): MaybePromise<Pet | undefined> {
  if (!isPetId(id)) return undefined
  return chain(selectPet(db, Number(id)), ([row]) => row && toPet(row))
}

/** Locks the pet until the end of the transaction. */
export function findPetForUpdate(trx: Trx, id: bigint): MaybePromise<Pet | undefined> {
  if (!isPetId(id)) return undefined
  return chain(selectPetForUpdate(trx, Number(id)), ([row]) => row && toPet(row))
}

const insertPet = insertReturningId<
  [name: string, categoryId: bigint, status: PetStatus, now: number, now: number, adoptedOn: string | null]
>((db) =>
  db.insertInto('pets').values({
    ...{ name: '', category_id: 0n, status: '' },
    ...{ created_at: 0, updated_at: 0, adopted_on: '' },
  }),
)
const selectPet = preparedQuery<[id: number], PetRow>((db) =>
  db.selectFrom('pets').select(petColumns).where('id', '=', 0),
)
const selectPetForUpdate = preparedQuery<[id: number], PetRow>((db) =>
  db.selectFrom('pets').select(petColumns).where('id', '=', 0).forUpdate(),
)

/** Before pets are locked: otherwise two transactions could give the same external id to two pets. */
export const lockExternalIds = (trx: Trx): Promise<void> => trx.lockName('external ids')

/** Locks the pet that an order refers to. An order never changes its pet. */
export function findPetOfOrderForUpdate(trx: Trx, petId: Expression<{ pet_id: number }>) {
  const pets = trx.selectFrom('pets').select(petColumns)
  return firstOf(pets.where('id', '=', petId as never).forUpdate(), toPet)
}

/** Locks the pet, unless another transaction has. There is nothing to lock if it does not exist. */
export async function tryLockPet(trx: Trx, id: number): Promise<boolean> {
  const pet = trx.selectFrom('pets').select('id').where('id', '=', id)
  const [locked, existing] = await Promise.all([
    pet.forUpdate().skipLocked().executeTakeFirst(),
    pet.executeTakeFirst(),
  ])
  return locked !== undefined || existing === undefined
}

/** Adds a pet. The database assigns the id. */
export async function createPet(trx: Trx, { name, categoryId, status = 'available' }: NewPet, now: number) {
  await ensureCategory(trx, categoryId, now)
  const id = await insertPet(trx, name, categoryId, status, now, now, adoptedOnFor(status, now))
  const pet: Pet = { id, name, categoryId, status }
  await recordEvent(trx, now, 'pet.created', pet)
  return pet
}

type UpdatedRow = [name: string, categoryId: bigint, status: PetStatus, now: number]
const updateRow = preparedStatement<[...UpdatedRow, status: PetStatus, adoptedOn: string | null, id: number]>(
  (db) =>
    db
      .updateTable('pets')
      .set({ name: '', category_id: 0n, status: '', updated_at: 0 })
      .set({ adopted_on: sql`CASE WHEN status = ${''} THEN adopted_on ELSE ${''} END` })
      .where('id', '=', 0),
)

/** Notes that the profile or the photos of a pet, which the transaction has locked, have changed. */
export const touchPet = (trx: Trx, id: number, now: number): Promise<void> =>
  trx.send(trx.updateTable('pets').set({ updated_at: now }).where('id', '=', id))

/** Changes a pet that the transaction has locked. */
export async function updatePet(
  trx: Trx,
  pet: Pet,
  change: PetUpdate,
  now: number,
  isCategoryLocked = false,
): Promise<Pet> {
  const { name = pet.name, categoryId = pet.categoryId, status = pet.status } = change
  // No event without a change.
  if (name === pet.name && categoryId === pet.categoryId && status === pet.status) return pet
  if (categoryId !== pet.categoryId && !isCategoryLocked) await ensureCategory(trx, categoryId, now)
  await trx.send(updateRow(trx, name, categoryId, status, now, status, adoptedOnFor(status, now), pet.id))
  const next: Pet = { id: pet.id, name, categoryId, status }
  await recordEvent(trx, now, 'pet.updated', next)
  return next
}

export async function deletePet(trx: Trx, pet: Pet, now: number): Promise<void> {
  await trx.send(trx.deleteFrom('pets').where('id', '=', pet.id))
  await recordEvent(trx, now, 'pet.deleted', { id: pet.id })
}

type PetRow = { id: number; name: string; category_id: bigint; status: string }

export const toPet = (row: PetRow): Pet => ({
  id: row.id,
  name: row.name,
  categoryId: row.category_id,
  status: row.status as PetStatus,
})
