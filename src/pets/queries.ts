import { type Kysely, sql } from 'kysely'
import { ensureCategory } from '../categories/queries.ts'
import type { DatabaseReader } from '../database/database.ts'
import type { SqlDialect } from '../database/dialect.ts'
import { insertMany, insertReturningId, preparedQuery } from '../database/preparedQuery.ts'
import type { Tables } from '../database/tables.ts'
import { recordEvent, recordEvents } from '../events/queries.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import type { NewPet, Pet, PetChange, PetStatus } from './pet.ts'

export type PetFilter = {
  status?: PetStatus | undefined
  categoryId?: bigint | undefined
  ids?: readonly bigint[] | undefined
}

/** Above every id that the service assigns, so that the first page is a page like any other. */
const aboveAllIds = 2 ** 53 - 1
const columns = ['id', 'name', 'category_id', 'status'] as const

/** One page, newest first, of animals below an id. Every combination of filters is answered by an index alone. */
export function petsPage(
  { read: db, dialect }: DatabaseReader,
  filter: PetFilter,
  limit: number,
  belowId = aboveAllIds,
) {
  const query = db.selectFrom('pets').select(columns)
  const { ids } = filter
  const filters: [column: 'category_id' | 'status', value: unknown][] = []
  if (filter.categoryId !== undefined) filters.push(['category_id', filter.categoryId])
  if (filter.status !== undefined) filters.push(['status', filter.status])
  if (ids === undefined) return dialect.keysetPage(query, filters, belowId).limit(limit)
  // Given ids find the rows by themselves, in order. The other columns are then wrapped in an expression, so that the
  // planner does not take an index of theirs and have to sort.
  const named = dialect.keysetPage(query.where('id', 'in', ids.map(Number)), [], belowId)
  return filters
    .reduce(
      (narrowed, [column, value]) => narrowed.where(sql`coalesce(${sql.ref(column)}, NULL)`, '=', value),
      named,
    )
    .limit(limit)
}

export async function listPets(
  store: DatabaseReader,
  filter: PetFilter,
  limit: number,
  belowId?: number,
): Promise<Pet[]> {
  return (await petsPage(store, filter, limit, belowId).execute()).map(toPet)
}

export function findPet(db: Kysely<Tables>, id: bigint): MaybePromise<Pet | undefined> {
  if (id < 1n || id > BigInt(aboveAllIds)) return undefined
  return chain(selectPet(db, Number(id)), ([row]) => row && toPet(row))
}

const insertPet = insertReturningId<[name: string, categoryId: bigint, status: PetStatus]>((db) =>
  db.insertInto('pets').values({ name: '', category_id: 0n, status: '' }),
)
const selectPet = preparedQuery<[id: number], PetRow>((db) =>
  db.selectFrom('pets').select(columns).where('id', '=', 0),
)

/** Adds an animal under an id of the store's choice, or under its own where it comes from another store. */
export async function addPet(
  trx: Kysely<Tables>,
  { name, categoryId, status = 'available' }: NewPet,
  now: number,
  ownId?: number,
): Promise<Pet> {
  await ensureCategory(trx, categoryId, now)
  if (ownId !== undefined)
    await trx.insertInto('pets').values({ id: ownId, name, category_id: categoryId, status }).execute()
  const id = ownId ?? (await insertPet(trx, name, categoryId, status))
  const pet: Pet = { id, name, categoryId, status }
  await recordEvent(trx, now, 'pet.created', pet)
  return pet
}

const insertPets = insertMany('pets', columns)

/** Adds many animals that are not there yet, under ids of the store's choice where they have none of their own. */
export async function addPets(
  trx: Kysely<Tables>,
  dialect: SqlDialect,
  pets: readonly (NewPet & { id?: number | undefined })[],
  now: number,
): Promise<void> {
  let lastId = 0
  if (pets.some(({ id }) => id === undefined)) {
    // Above those that come along, too, of which one may be next in line.
    lastId = pets.reduce((last, { id = 0 }) => Math.max(last, id), await dialect.lastAssignedId(trx, 'pets'))
  }
  const added: Pet[] = pets.map(({ id, name, categoryId, status = 'available' }) => ({
    id: id ?? ++lastId,
    name,
    categoryId,
    status,
  }))
  for (const categoryId of new Set(added.map((pet) => pet.categoryId)))
    await ensureCategory(trx, categoryId, now)
  await insertPets(
    trx,
    added.map(({ id, name, categoryId, status }) => [id, name, categoryId, status]),
  )
  await recordEvents(
    trx,
    now,
    added.map((data) => ({ type: 'pet.created', data })),
  )
  const highest = added.reduce((last, { id }) => Math.max(last, id), 0)
  await dialect.reserveIds(trx, 'pets', highest)
}

export async function changePet(trx: Kysely<Tables>, pet: Pet, change: PetChange, now: number): Promise<Pet> {
  const next: Pet = {
    id: pet.id,
    name: change.name ?? pet.name,
    categoryId: change.categoryId ?? pet.categoryId,
    status: change.status ?? pet.status,
  }
  // What changes nothing is nothing to tell of.
  if (next.name === pet.name && next.categoryId === pet.categoryId && next.status === pet.status) return pet
  await ensureCategory(trx, next.categoryId, now)
  await trx
    .updateTable('pets')
    .set({ name: next.name, category_id: next.categoryId, status: next.status })
    .where('id', '=', pet.id)
    .execute()
  await recordEvent(trx, now, 'pet.updated', next)
  return next
}

export async function removePet(trx: Kysely<Tables>, pet: Pet, now: number): Promise<void> {
  await trx.deleteFrom('pets').where('id', '=', pet.id).execute()
  await recordEvent(trx, now, 'pet.deleted', { id: pet.id })
}

type PetRow = { id: number; name: string; category_id: bigint; status: string }

const toPet = (row: PetRow): Pet => ({
  id: row.id,
  name: row.name,
  categoryId: row.category_id,
  status: row.status as PetStatus,
})
