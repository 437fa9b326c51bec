import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import { ensureCategories, ensureCategory } from '../categories/queries.ts'
import type { Db, Trx } from '../database/db.ts'
import {
  firstOf,
  insertMany,
  insertReturningId,
  preparedQuery,
  preparedStatement,
} from '../database/preparedQuery.ts'
import { recordEvent, recordEvents } from '../events/queries.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import type { NewPet, Pet, PetStatus, PetUpdate } from './pet.ts'

export type PetFilter = {
  status?: PetStatus | undefined
  categoryId?: bigint | undefined
  id?: readonly bigint[] | undefined
}

/** Above every id that the service assigns. */
const petIdMax = Number.MAX_SAFE_INTEGER
const isPetId = (id: bigint): boolean => id >= 1n && id <= BigInt(petIdMax)
const columns = ['id', 'name', 'category_id', 'status'] as const

/** One page of pets below an id, newest first. An index covers every combination of filters. */
export function petsPageQuery(
  db: Db,
  limit: number,
  belowId = petIdMax,
  { status, categoryId, id: ids }: PetFilter,
) {
  const query = db.selectFrom('pets').select(columns)
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

const insertPet = insertReturningId<[name: string, categoryId: bigint, status: PetStatus]>((db) =>
  db.insertInto('pets').values({ name: '', category_id: 0n, status: '' }),
)
const selectPet = preparedQuery<[id: number], PetRow>((db) =>
  db.selectFrom('pets').select(columns).where('id', '=', 0),
)
const selectPetForUpdate = preparedQuery<[id: number], PetRow>((db) =>
  db.selectFrom('pets').select(columns).where('id', '=', 0).forUpdate(),
)

/** Locks the pet that an order refers to. An order never changes its pet. */
export function findPetOfOrderForUpdate(trx: Trx, petId: Expression<{ pet_id: number }>) {
  const pets = trx.selectFrom('pets').select(columns)
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
  const pet: Pet = { id: await insertPet(trx, name, categoryId, status), name, categoryId, status }
  await recordEvent(trx, now, 'pet.created', pet)
  return pet
}

const insertPets = insertMany('pets', columns)
const insertPetsWithExternalIds = insertMany('pets', [...columns, 'external_id'])

type ImportedPet = NewPet & { id?: number | undefined; externalId?: string | undefined }

/** Adds many new pets. Pets without an id get the next free ones. */
export async function createPets(trx: Trx, pets: readonly ImportedPet[], now: number): Promise<void> {
  // First, because one of the given ids may be the next free id.
  await trx.dialect.reserveIds(
    trx,
    'pets',
    pets.reduce((highest, { id = 0 }) => Math.max(highest, id), 0),
  )
  const assigned = await trx.dialect.assignIds(trx, 'pets', pets.filter(({ id }) => id === undefined).length)
  const added: Pet[] = pets.map(({ id, name, categoryId, status = 'available' }) => ({
    id: id ?? (assigned.shift() as number),
    name,
    categoryId,
    status,
  }))
  await ensureCategories(
    trx,
    added.map(({ categoryId }) => categoryId),
    now,
  )
  const rows = added.map(({ id, name, categoryId, status }) => [id, name, categoryId, status])
  if (pets.every(({ externalId }) => externalId === undefined)) await insertPets(trx, rows)
  else
    await insertPetsWithExternalIds(
      trx,
      rows.map((row, at) => [...row, pets[at]?.externalId ?? null]),
    )
  const events = added.map((data) => ({ type: 'pet.created', data }) as const)
  await recordEvents(trx, now, events)
  const highestId = added.reduce((highest, { id }) => Math.max(highest, id), 0)
  await trx.dialect.reserveIds(trx, 'pets', highestId)
}

/** A pet with the name that it has in another system. */
export type StoredPet = Pet & { readonly externalId: string | null }

const idsPerRowMax = 4

/** A range is faster than a list, and the ids of an export are dense. May find rows that are not among the given ones. */
export function isAmong(db: Db, column: string, ids: readonly number[]): RawBuilder<boolean> {
  const [min, max] = [Math.min(...ids), Math.max(...ids)]
  return max - min < idsPerRowMax * ids.length
    ? sql`${sql.ref(column)} BETWEEN ${min} AND ${max}`
    : db.dialect.isIn(column, ids)
}

/** `isLocked` locks the pets until the end of the transaction, in the order of their ids. */
export async function findStoredPets(db: Db, condition: Expression<SqlBool>, isLocked = false) {
  const rows = await db
    .selectFrom('pets')
    .select([...columns, 'external_id'])
    .where(condition)
    // Otherwise without an order: PostgreSQL would read pets in the order of their ids instead of using another index.
    .$if(isLocked, (query) => query.orderBy('id').forUpdate())
    .execute()
  return rows.map((row) => ({ ...toPet(row), externalId: row.external_id }))
}

const replacePets = insertMany('pets', [...columns, 'external_id'], (insert) =>
  insert.onConflict((conflict) =>
    conflict.column('id').doUpdateSet({
      name: sql`excluded.name`,
      category_id: sql`excluded.category_id`,
      status: sql`excluded.status`,
      external_id: sql`excluded.external_id`,
    }),
  ),
)

/** Changes many pets that the transaction has locked. Their categories exist. */
export async function updatePets(trx: Trx, pets: readonly StoredPet[], now: number): Promise<void> {
  if (pets.length === 0) return
  await replacePets(
    trx,
    pets.map(({ id, name, categoryId, status, externalId }) => [id, name, categoryId, status, externalId]),
  )
  // The external id is not part of the event. A change of it alone has an event all the same: an export in batches reads
  // again what has one.
  const events = pets.map(({ externalId: _, ...data }) => ({ type: 'pet.updated', data }) as const)
  await recordEvents(trx, now, events)
}

const updateRow = preparedStatement<[name: string, categoryId: bigint, status: PetStatus, id: number]>((db) =>
  db.updateTable('pets').set({ name: '', category_id: 0n, status: '' }).where('id', '=', 0),
)

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
  await trx.send(updateRow(trx, name, categoryId, status, pet.id))
  const next: Pet = { id: pet.id, name, categoryId, status }
  await recordEvent(trx, now, 'pet.updated', next)
  return next
}

export async function deletePet(trx: Trx, pet: Pet, now: number): Promise<void> {
  await trx.send(trx.deleteFrom('pets').where('id', '=', pet.id))
  await recordEvent(trx, now, 'pet.deleted', { id: pet.id })
}

type PetRow = { id: number; name: string; category_id: bigint; status: string }

const toPet = (row: PetRow): Pet => ({
  id: row.id,
  name: row.name,
  categoryId: row.category_id,
  status: row.status as PetStatus,
})
