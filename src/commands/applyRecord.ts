import { type Kysely, type RawBuilder, sql } from 'kysely'
import type * as z from 'zod'
import { findCategory, renameCategory, reserveCategoryIds } from '../categories/queries.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { continueFeed, recordEvent } from '../events/queries.ts'
import { isOpenOrderStatus, petStatusForOrder } from '../orders/order.ts'
import { findOpenOrder, findOrder, syncPetStatus } from '../orders/queries.ts'
import { addPet, addPets, changePet, findPet } from '../pets/queries.ts'
import { applyKey, type KeyOutcome } from './applyKey.ts'
import {
  type AnyRecord,
  type categoryRecord,
  type headRecord,
  isPet,
  type orderRecord,
  type PetRecord,
} from './records.ts'

/** No other process can write during this time. */
const pieceMaxMs = 500
const petsAtOnce = 500

export type Applied = {
  /** How many of the lines. */
  readonly done: number
  readonly keys: readonly KeyOutcome[]
}

/**
 * Brings lines of an import into the store, with the events of what they change: as many as there is time for, which it
 * answers.
 */
export async function applyRecords(
  trx: Kysely<Tables>,
  database: Database,
  records: readonly AnyRecord[],
  now: number,
): Promise<Applied> {
  const deadline = performance.now() + pieceMaxMs
  const highest = { pets: 0, orders: 0, api_keys: 0 }
  const keys: KeyOutcome[] = []
  let done = 0
  while (done < records.length && (done === 0 || performance.now() < deadline)) {
    const pets = petsFrom(records, done)
    const taken = pets.length > 0 ? pets : records.slice(done, done + 1)
    if (pets.length > 0) await applyPets(trx, database, pets, now)
    else
      for (const record of taken) {
        const key = await applyRecord(trx, database, record, now)
        if (key) keys.push(key)
      }
    done += taken.length
    for (const record of taken) {
      const table = tableOf(record)
      if (table) highest[table] = Math.max(highest[table], ('id' in record && Number(record.id)) || 0)
    }
  }
  // What came with an id of its own must not meet it again in one that the store assigns.
  for (const [table, id] of Object.entries(highest))
    if (id > 0) await database.dialect.reserveIds(trx, table as keyof typeof highest, id)
  return { done, keys }
}

function tableOf({ type }: AnyRecord) {
  if (type === undefined || type === 'pet') return 'pets'
  return type === 'order' ? 'orders' : type === 'key' ? 'api_keys' : undefined
}

async function applyRecord(
  trx: Kysely<Tables>,
  database: Database,
  record: AnyRecord,
  now: number,
): Promise<KeyOutcome | undefined> {
  switch (record.type) {
    case 'petstore':
      await applyHead(trx, database, record)
      return
    case 'category':
      await applyCategory(trx, record, now)
      return
    case 'key':
      return applyKey(trx, record, now)
    case 'order':
      await applyOrder(trx, record, now)
      return
    default:
      await applyPet(trx, record, now)
  }
}

async function applyHead(trx: Kysely<Tables>, { dialect }: Database, head: z.output<typeof headRecord>) {
  await dialect.reserveIds(trx, 'pets', head.lastPetId ?? 0)
  await dialect.reserveIds(trx, 'api_keys', head.lastKeyId ?? 0)
  await reserveCategoryIds(trx, head.lastCategoryId ?? 0)
  await dialect.reserveIds(trx, 'orders', head.lastOrderId ?? 0)
  await continueFeed(trx, dialect, head.lastEventId ?? 0)
}

async function applyCategory(
  trx: Kysely<Tables>,
  { id, name }: z.output<typeof categoryRecord>,
  now: number,
) {
  const known = await findCategory(trx, id)
  if (known && (known.name ?? null) === name) return
  if (known) return void (await renameCategory(trx, id, name ?? undefined, now))
  await trx.insertInto('categories').values({ category_id: id, name }).execute()
  await recordEvent(trx, now, 'category.created', name === null ? { id } : { id, name })
}

/** The animals that follow each other from here on, up to a number that is written at once. */
function petsFrom(records: readonly AnyRecord[], from: number): PetRecord[] {
  const pets: PetRecord[] = []
  for (let at = from; at < records.length && pets.length < petsAtOnce; at++) {
    const record = records[at] as AnyRecord
    if (!isPet(record)) break
    pets.push(record)
  }
  return pets
}

/** Most animals of most imports are new: those are added all at once, and the others one by one. */
async function applyPets(
  trx: Kysely<Tables>,
  { dialect }: Database,
  pets: readonly PetRecord[],
  now: number,
) {
  const ids = pets.flatMap(({ id }) => id ?? [])
  const known = new Set(ids.length > 0 ? await knownIds(trx, ids) : [])
  const fresh: PetRecord[] = []
  const others: PetRecord[] = []
  for (const pet of pets) {
    if (pet.id !== undefined && known.has(pet.id)) others.push(pet)
    else fresh.push(pet)
    // Given again further down, it is there by then.
    if (pet.id !== undefined) known.add(pet.id)
  }
  if (fresh.length > 0) await addPets(trx, dialect, fresh, now)
  for (const pet of others) await applyPet(trx, pet, now)
}

/** Of these ids those that are there already, or that an open order names; others may be among them. */
async function knownIds(trx: Kysely<Tables>, ids: readonly number[]): Promise<number[]> {
  const pets = await trx
    .selectFrom('pets')
    .select('id')
    .where(isAmong(sql.ref('id'), ids))
    .execute()
  const ordered = await trx
    .selectFrom('orders')
    .select('pet_id')
    .where(isAmong(sql.ref('pet_id'), ids))
    .where('status', 'in', [sql.lit('placed'), sql.lit('approved')])
    .execute()
  return [...pets.map(({ id }) => id), ...ordered.map(({ pet_id }) => pet_id)]
}

const gapsMax = 4

/** Ids that are close together, as in an export, are faster looked for by the first and the last of them. */
function isAmong(column: RawBuilder<unknown>, ids: readonly number[]): RawBuilder<boolean> {
  const [from, to] = [Math.min(...ids), Math.max(...ids)]
  return to - from < gapsMax * ids.length
    ? sql`${column} BETWEEN ${from} AND ${to}`
    : sql`${column} IN (${sql.join(ids)})`
}

/** An animal that an order is open on has the status that the order gives it, whatever its line says. */
async function applyPet(trx: Kysely<Tables>, { id, ...pet }: PetRecord, now: number) {
  if (id === undefined) return void (await addPet(trx, pet, now))
  // Asked before the animal is looked at, for a hold that has run out gives it back.
  const order = await findOpenOrder(trx, BigInt(id), now)
  const imported = { ...pet, status: order ? petStatusForOrder[order.status] : (pet.status ?? 'available') }
  const known = await findPet(trx, BigInt(id))
  await (known ? changePet(trx, known, imported, now) : addPet(trx, imported, now, id))
}

async function applyOrder(trx: Kysely<Tables>, record: z.output<typeof orderRecord>, now: number) {
  const { id, petId, status, cancelReason } = record
  // First: it may end the hold of the very order that is looked up after it.
  const open = isOpenOrderStatus(status) ? await findOpenOrder(trx, BigInt(petId), now) : undefined
  const known = await findOrder(trx, id)
  if (open && open.id !== id)
    throw new Error(`Order ${id} cannot be ${status}: order ${open.id} is open on animal ${petId} already.`)
  const row = {
    pet_id: petId,
    status,
    customer_name: record.customer?.name ?? null,
    customer_email: record.customer?.email ?? null,
    note: record.note,
    placed_at: record.placedAt,
    updated_at: record.updatedAt,
    hold_expires_at: record.holdExpiresAt,
    cancel_reason: cancelReason,
  }
  await trx
    .insertInto('orders')
    .values({ id, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
  if (known?.petId === petId && known.status === status) return
  const data = { id, petId, status, ...(cancelReason !== null && { cancelReason }) }
  await recordEvent(trx, now, `order.${status}`, data)
  // The animal goes with an order that is, or was, open here; what one that ended elsewhere means for it is in its own line.
  if (known && isOpenOrderStatus(known.status))
    await syncPetStatus(trx, known.petId, known.petId === petId ? status : 'cancelled', now)
  if (isOpenOrderStatus(status)) await syncPetStatus(trx, petId, status, now)
}
