import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import { ensureCategories } from '../categories/queries.ts'
import type { Db, Trx } from '../database/db.ts'
import { insertMany } from '../database/preparedQuery.ts'
import { recordEvents } from '../events/queries.ts'
import type { NewPet, Pet } from './pet.ts'
import { petColumns, toPet } from './queries.ts'

/** Pets with what an import can change besides, many at once. */

const importColumns = [...petColumns, 'created_at', 'updated_at', 'adopted_on']
const insertPets = insertMany('pets', importColumns)
const insertPetsWithExternalIds = insertMany('pets', [...importColumns, 'external_id', 'source'])

/** Of a pet in another database. */
export type PetOrigin = {
  externalId?: string | undefined
  source?: string | undefined
  createdAt?: number | undefined
  updatedAt?: number | undefined
  adoptedOn?: string | undefined
}
type ImportedPet = NewPet & PetOrigin & { id?: number | undefined }

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
  const rows = added.map(({ id, name, categoryId, status }, at) => {
    const given = pets[at] as ImportedPet
    // A pet with an id is from another database: its time of creation is not known. A date of adoption is never assumed.
    const { createdAt = given.id === undefined ? now : null, updatedAt = createdAt, adoptedOn = null } = given
    return [id, name, categoryId, status, createdAt, updatedAt, status === 'sold' ? adoptedOn : null]
  })
  if (pets.every(({ externalId, source }) => externalId === undefined && source === undefined))
    await insertPets(trx, rows)
  else
    await insertPetsWithExternalIds(
      trx,
      rows.map((row, at) => [...row, pets[at]?.externalId ?? null, pets[at]?.source ?? '']),
    )
  const events = added.map((data) => ({ type: 'pet.created', data }) as const)
  await recordEvents(trx, now, events)
  const highestId = added.reduce((highest, { id }) => Math.max(highest, id), 0)
  await trx.dialect.reserveIds(trx, 'pets', highestId)
}

/** A pet with what an import can change besides. */
export type StoredPet = Pet & {
  readonly externalId: string | null
  readonly source: string
  readonly createdAt: number | null
  readonly adoptedOn: string | null
}

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
    .select([...petColumns, 'external_id', 'source', 'created_at', 'adopted_on'])
    .where(condition)
    // Otherwise without an order: PostgreSQL would read pets in the order of their ids instead of using another index.
    .$if(isLocked, (query) => query.orderBy('id').forUpdate())
    .execute()
  return rows.map((row) => ({
    ...toPet(row),
    ...{ externalId: row.external_id, source: row.source },
    ...{ createdAt: row.created_at, adoptedOn: row.adopted_on },
  }))
}

const replacePets = insertMany('pets', [...importColumns, 'external_id', 'source'], (insert) =>
  insert.onConflict((conflict) =>
    conflict.column('id').doUpdateSet({
      name: sql`excluded.name`,
      category_id: sql`excluded.category_id`,
      status: sql`excluded.status`,
      external_id: sql`excluded.external_id`,
      source: sql`excluded.source`,
      created_at: sql`excluded.created_at`,
      updated_at: sql`excluded.updated_at`,
      adopted_on: sql`excluded.adopted_on`,
    }),
  ),
)

/** Changes many pets that the transaction has locked. Their categories exist. */
export async function updatePets(trx: Trx, pets: readonly StoredPet[], now: number): Promise<void> {
  if (pets.length === 0) return
  await replacePets(
    trx,
    pets.map((pet) => [
      ...[pet.id, pet.name, pet.categoryId, pet.status],
      ...[pet.createdAt, now, pet.adoptedOn, pet.externalId, pet.source],
    ]),
  )
  // The other fields are not part of the event. A change of them alone has an event all the same: an export in batches
  // reads again what has one.
  const events = pets.map(({ id, name, categoryId, status }) => {
    const data: Pet = { id, name, categoryId, status }
    return { type: 'pet.updated', data } as const
  })
  await recordEvents(trx, now, events)
}
