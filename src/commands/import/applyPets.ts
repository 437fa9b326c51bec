import { type RawBuilder, sql } from 'kysely'
import type { SqlDialect } from '../../database/dialect.ts'
import type { Db } from '../../database/tables.ts'
import { petStatusForOrder } from '../../orders/order.ts'
import { lockPetAndOrder } from '../../orders/queries.ts'
import { createPets, updatePet } from '../../pets/queries.ts'
import type { PetRecord } from './records.ts'

/** Inserts new pets with one statement, and updates existing ones and those with open orders one by one. */
export async function applyPets(
  trx: Db,
  dialect: SqlDialect,
  pets: readonly PetRecord[],
  now: number,
): Promise<void> {
  const ids = pets.flatMap(({ id }) => id ?? [])
  const known = new Set(ids.length > 0 ? await findKnownIds(trx, ids) : [])
  const added: PetRecord[] = []
  const changed: PetRecord[] = []
  for (const pet of pets) {
    const isKnown = pet.id !== undefined && known.has(pet.id)
    ;(isKnown ? changed : added).push(pet)
    // A later record with the same id updates the pet.
    if (pet.id !== undefined) known.add(pet.id)
  }
  if (added.length > 0) await createPets(trx, dialect, added, now)
  for (const pet of changed) await applyPet(trx, dialect, pet, now)
}

/** The ids of existing pets and of pets with open orders. May contain ids that are not among the given ones. */
async function findKnownIds(trx: Db, ids: readonly number[]): Promise<number[]> {
  const pets = await trx
    .selectFrom('pets')
    .select('id')
    .where(isAmong(sql.ref('id'), ids))
    .execute()
  const orders = await trx
    .selectFrom('orders')
    .select('pet_id as id')
    .where(isAmong(sql.ref('pet_id'), ids))
    .where('status', 'in', [sql.lit('placed'), sql.lit('approved')])
    .execute()
  return [...pets, ...orders].map(({ id }) => id)
}

const idsPerRowMax = 4

/** A range is faster than a list, and the ids of an export are dense. */
function isAmong(column: RawBuilder<unknown>, ids: readonly number[]): RawBuilder<boolean> {
  const [min, max] = [Math.min(...ids), Math.max(...ids)]
  return max - min < idsPerRowMax * ids.length
    ? sql`${column} BETWEEN ${min} AND ${max}`
    : sql`${column} IN (${sql.join(ids)})`
}

/** A pet with an open order has the status that the order gives it, not that of the record. */
async function applyPet(trx: Db, dialect: SqlDialect, pet: PetRecord, now: number): Promise<void> {
  const { pet: existing, openOrder } = await lockPetAndOrder(trx, BigInt(pet.id ?? 0), now)
  const status = openOrder ? petStatusForOrder[openOrder.status] : (pet.status ?? 'available')
  const imported = { ...pet, status }
  if (existing) await updatePet(trx, existing, imported, now)
  else await createPets(trx, dialect, [imported], now)
}
