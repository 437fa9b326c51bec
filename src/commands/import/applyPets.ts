import { type RawBuilder, sql } from 'kysely'
import { ensureCategories } from '../../categories/queries.ts'
import type { Db, Trx } from '../../database/db.ts'
import { type OrderStatus, petStatusForOrder } from '../../orders/order.ts'
import { lockPetAndOrder } from '../../orders/queries.ts'
import { createPets, findStoredPets, type StoredPet, updatePets } from '../../pets/queries.ts'
import { addChangeCounts, type ChangeCounts, noChangeCounts } from './changes.ts'
import { ConflictError } from './problems.ts'
import type { PetRecord } from './records.ts'

export const petsPerStatement = 500

/**
 * Adds new pets and changes existing ones, with a number of statements that does not depend on the number of pets, unless
 * several records are about the same pet.
 */
export async function applyPets(trx: Trx, pets: readonly PetRecord[], now: number): Promise<ChangeCounts> {
  const { storedIds, petIds } = await findStoredIds(trx, pets)
  const repeated = storedIndex(await findStoredPets(trx, storedIds)).firstRepeated(pets)
  if (repeated !== undefined) {
    const counts = await applyPets(trx, pets.slice(0, repeated), now)
    addChangeCounts(counts, await applyPets(trx, pets.slice(repeated), now))
    return counts
  }
  if (storedIds.length === 0 && (await findOpenOrders(trx, petIds)).size === 0) {
    await createPets(trx, pets, now)
    return { ...noChangeCounts(), added: pets.length }
  }
  // Before the pets, in the order of all locks.
  await ensureCategories(
    trx,
    pets.map(({ categoryId }) => categoryId),
    now,
  )
  const openOrders = await lockPetsAndExpireHolds(trx, storedIds, petIds, now)
  const stored = storedIndex(await findStoredPets(trx, storedIds))
  const added: PetRecord[] = []
  const changed: StoredPet[] = []
  for (const record of pets) {
    const existing = stored.find(record)
    const holder = stored.holderOf(record)
    if (holder && holder.id !== existing?.id)
      throw new ConflictError(
        `Animal ${record.id} cannot have the external id "${record.externalId}", because animal ${holder.id} has it.`,
      )
    const order = openOrders.get(existing?.id ?? record.id ?? 0)
    // A pet with an open order has the status that the order gives it, not that of the record.
    const status = order ? petStatusForOrder[order.status] : record.status
    if (!existing) added.push({ ...record, status })
    else {
      const next = merge(existing, { ...record, status })
      if (!isSame(existing, next)) changed.push(next)
    }
  }
  await updatePets(trx, changed, now)
  if (added.length > 0) await createPets(trx, added, now)
  const unchanged = pets.length - added.length - changed.length
  return { added: added.length, changed: changed.length, unchanged }
}

/** Returns the open orders by pet. Orders change only while their pet is locked. */
async function lockPetsAndExpireHolds(
  trx: Trx,
  storedIds: readonly number[],
  petIds: readonly number[],
  now: number,
): Promise<Map<number, OpenOrder>> {
  await findStoredPets(trx, storedIds, true)
  const openOrders = await findOpenOrders(trx, petIds)
  for (const [petId, { holdExpiresAt }] of openOrders) {
    if (holdExpiresAt === null || holdExpiresAt > now) continue
    await lockPetAndOrder(trx, BigInt(petId), now)
    openOrders.delete(petId)
  }
  return openOrders
}

/** What a record leaves out stays as it is. */
export const merge = (pet: StoredPet, record: PetRecord): StoredPet => ({
  id: pet.id,
  name: record.name,
  categoryId: record.categoryId,
  status: record.status ?? pet.status,
  externalId: record.externalId ?? pet.externalId,
})

export const isSame = (a: StoredPet, b: StoredPet): boolean =>
  a.name === b.name && a.categoryId === b.categoryId && a.status === b.status && a.externalId === b.externalId

/** Finds the stored pet of a record: by its id, or else by its external id. */
export function storedIndex(stored: readonly StoredPet[]) {
  const byId = new Map(stored.map((pet) => [pet.id, pet]))
  const byExternalId = new Map(stored.map((pet) => [pet.externalId, pet]))
  const holderOf = ({ externalId }: PetRecord): StoredPet | undefined =>
    externalId === undefined ? undefined : byExternalId.get(externalId)
  const find = (record: PetRecord): StoredPet | undefined =>
    record.id === undefined ? holderOf(record) : byId.get(record.id)
  /** The index of the first record that has the pet or the external id of an earlier one. */
  const firstRepeated = (pets: readonly PetRecord[]): number | undefined => {
    if (isAscending(pets)) return undefined
    const seen = new Set<number | string>()
    for (const [at, record] of pets.entries()) {
      const { id, externalId } = record
      const keys = [find(record)?.id ?? id, externalId].filter((key) => key !== undefined)
      if ([...keys, holderOf(record)?.id ?? 0].some((key) => seen.has(key))) return at
      for (const key of keys) seen.add(key)
    }
    return undefined
  }
  return { find, holderOf, firstRepeated }
}

/** Whether all ids are different, as in an export. */
function isAscending(pets: readonly PetRecord[]): boolean {
  let last = 0
  for (const { id = last + 1, externalId } of pets) {
    if (externalId !== undefined || id <= last) return false
    last = id
  }
  return true
}

type OpenOrder = { readonly status: 'placed' | 'approved'; readonly holdExpiresAt: number | null }

/** The ids of existing pets, and of all pets that the records name. */
async function findStoredIds(db: Db, pets: readonly Pick<PetRecord, 'id' | 'externalId'>[]) {
  const given = pets.flatMap(({ id }) => id ?? [])
  const externalIds = pets.flatMap(({ externalId }) => externalId ?? [])
  const selectIds = db.selectFrom('pets').select('id')
  const byId = given.length > 0 ? await selectIds.where(isAmong(db, 'id', given)).execute() : []
  const byExternalId =
    externalIds.length > 0
      ? await selectIds
          .where(db.dialect.isIn('external_id', externalIds))
          // As in the partial index.
          .where('external_id', 'is not', null)
          .execute()
      : []
  const isGiven = new Set(given)
  const found = [...byId.filter(({ id }) => isGiven.has(id)), ...byExternalId].map(({ id }) => id)
  return { storedIds: [...new Set(found)], petIds: [...new Set([...given, ...found])] }
}

/** The stored pets that the records name. Without a database, there are none. */
export const findPetsOf = async (
  db: Db | undefined,
  pets: readonly Pick<PetRecord, 'id' | 'externalId'>[],
): Promise<StoredPet[]> => (db ? findStoredPets(db, (await findStoredIds(db, pets)).storedIds) : [])

async function findOpenOrders(trx: Trx, petIds: readonly number[]): Promise<Map<number, OpenOrder>> {
  if (petIds.length === 0) return new Map()
  const rows = await trx
    .selectFrom('orders')
    .select(['pet_id', 'status', 'hold_expires_at'])
    .where(isAmong(trx, 'pet_id', petIds))
    .where('status', 'in', [sql.lit('placed'), sql.lit('approved')])
    .execute()
  return new Map(
    rows.map(({ pet_id, status, hold_expires_at: holdExpiresAt }) => [
      pet_id,
      { status: status as OpenOrder['status'] satisfies OrderStatus, holdExpiresAt },
    ]),
  )
}

const idsPerRowMax = 4

/** A range is faster than a list, and the ids of an export are dense. May find rows that are not among the given ones. */
function isAmong(db: Db, name: 'id' | 'pet_id', ids: readonly number[]): RawBuilder<boolean> {
  const [min, max] = [Math.min(...ids), Math.max(...ids)]
  return max - min < idsPerRowMax * ids.length
    ? sql`${sql.ref(name)} BETWEEN ${min} AND ${max}`
    : db.dialect.isIn(name, ids)
}
