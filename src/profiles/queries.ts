import { toJson } from '../api/json.ts'
import { timestamp } from '../clock.ts'
import type { Db, Trx } from '../database/db.ts'
import { insertMany } from '../database/preparedQuery.ts'
import { recordEvents } from '../events/queries.ts'
import type { Pet, PetStatus } from '../pets/pet.ts'
import { touchPet } from '../pets/queries.ts'
import { emptyProfile, type Profile } from './profile.ts'

/** A pet with its profile, and what other tables know about it. */
export type PetWithProfile = {
  readonly pet: Pet
  readonly profile: Profile
  readonly bonds: readonly Bond[]
  readonly adoptedOn: string | null
  readonly createdAt: number | null
  readonly updatedAt: number | null
  /** The JSON text of the profile, as it is stored. */
  readonly data: string
}
type Bond = { readonly petId: number; readonly isListed: boolean }

/** The animals with these ids that exist. */
export async function findPetsWithProfiles(db: Db, ids: readonly number[]): Promise<PetWithProfile[]> {
  if (ids.length === 0) return []
  const [rows, bonds] = await Promise.all([
    db
      .selectFrom('pets')
      .leftJoin('profiles', 'profiles.pet_id', 'pets.id')
      .select(['id', 'name', 'category_id', 'status', 'external_id', 'source'])
      .select(['created_at', 'updated_at', 'adopted_on', 'data', 'listed'])
      .where(db.dialect.isIn('pets.id', ids))
      .execute(),
    findBonds(db, ids),
  ])
  return rows.map((row) => ({
    pet: { id: row.id, name: row.name, categoryId: row.category_id, status: row.status as PetStatus },
    profile: {
      ...(row.data === null ? emptyProfile : parseProfile(row.data)),
      source: row.source,
      externalId: row.external_id,
      listed: row.listed !== 0,
    },
    bonds: bonds.get(row.id) ?? [],
    adoptedOn: row.adopted_on,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    data: row.data ?? '',
  }))
}

export const findPetWithProfile = async (db: Db, id: number): Promise<PetWithProfile | undefined> =>
  (await findPetsWithProfiles(db, [id]))[0]

async function findBonds(db: Db, ids: readonly number[]): Promise<Map<number, Bond[]>> {
  const rows = await db
    .selectFrom('pet_bonds')
    .leftJoin('profiles', 'profiles.pet_id', 'other_id')
    .select(['pet_bonds.pet_id', 'other_id', 'listed'])
    .where(db.dialect.isIn('pet_bonds.pet_id', ids))
    .orderBy('other_id')
    .execute()
  const bonds = new Map<number, Bond[]>()
  for (const { pet_id, other_id, listed } of rows)
    bonds.set(pet_id, [...(bonds.get(pet_id) ?? []), { petId: other_id, isListed: listed !== 0 }])
  return bonds
}

/** Whether the profile of a pet was ever changed. */
export const hasProfile = async (db: Db, petId: number): Promise<boolean> =>
  (await db.selectFrom('profiles').select('pet_id').where('pet_id', '=', petId).executeTakeFirst()) !==
  undefined

/** The fields that are columns of other tables are not part of the JSON text. */
type StoredProfile = Omit<Profile, 'source' | 'externalId' | 'listed'>

/** A profile that an earlier version has stored lacks the fields of this one. */
const parseProfile = (data: string): StoredProfile => ({ ...emptyProfile, ...JSON.parse(data) })

/** Stores the profile of a pet that the transaction has locked, without its bonds. */
export async function saveProfile(trx: Trx, petId: number, profile: Profile): Promise<void> {
  const { source, externalId, listed, ...stored } = profile
  const row = { listed: Number(listed), data: toJson(stored) }
  await trx.send(
    trx
      .insertInto('profiles')
      .values({ pet_id: petId, ...row })
      .onConflict((conflict) => conflict.column('pet_id').doUpdateSet(row)),
  )
  await trx.send(trx.updateTable('pets').set({ source, external_id: externalId }).where('id', '=', petId))
}

/** Another pet that has this external id of this source. */
export async function findHolder(trx: Trx, petId: number, { source, externalId }: Profile) {
  if (externalId === null) return undefined
  const holder = await trx
    .selectFrom('pets')
    .select('id')
    .where('external_id', '=', externalId)
    .where('external_id', 'is not', null)
    .where('source', '=', source)
    .where('id', '!=', petId)
    .executeTakeFirst()
  return holder?.id
}

/** Locks the pets that exist, in the order of their ids, until the end of the transaction. Returns their ids. */
export async function lockPets(trx: Trx, ids: readonly number[]): Promise<Set<number>> {
  const isGiven = trx.dialect.isIn('id', [...new Set(ids)])
  const rows = await trx.selectFrom('pets').select('id').where(isGiven).orderBy('id').forUpdate().execute()
  return new Set(rows.map(({ id }) => id))
}

/** Locks a pet, those that it is bonded with and others. No other transaction adds bonds until the end of this one. */
export async function lockWithBonds(
  trx: Trx,
  petId: number,
  others: readonly number[],
): Promise<Set<number>> {
  // Before the bonds are read: a bond that is added later would be one with a pet that is not locked in order.
  await trx.lockName('bonds')
  return lockPets(trx, [petId, ...others, ...(await bondsOf(trx, petId))])
}

const bondsOf = async (db: Db, petId: number): Promise<number[]> =>
  ((await findBonds(db, [petId])).get(petId) ?? []).map((bond) => bond.petId)

/** The number of bonds of each pet. */
export async function countBonds(db: Db, ids: readonly number[]): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom('pet_bonds')
    .select(['pet_id', ({ fn }) => fn.countAll<number>().as('count')])
    .where(db.dialect.isIn('pet_id', ids))
    .groupBy('pet_id')
    .execute()
  return new Map(rows.map(({ pet_id, count }) => [pet_id, Number(count)]))
}

const insertBonds = insertMany('pet_bonds', ['pet_id', 'other_id'], (insert) =>
  insert.onConflict((conflict) => conflict.doNothing()),
)

/** Replaces the bonds of a pet, in both directions. All pets are locked. Returns the other pets that have changed. */
export async function replaceBonds(trx: Trx, petId: number, others: readonly number[]): Promise<number[]> {
  const before = await bondsOf(trx, petId)
  const removed = before.filter((id) => !others.includes(id))
  const added = others.filter((id) => !before.includes(id))
  if (removed.length > 0) {
    const { isIn } = trx.dialect
    await trx.deleteFrom('pet_bonds').where('pet_id', '=', petId).where(isIn('other_id', removed)).execute()
    await trx.deleteFrom('pet_bonds').where('other_id', '=', petId).where(isIn('pet_id', removed)).execute()
  }
  await insertBonds(
    trx,
    added.flatMap((id) => [
      [petId, id],
      [id, petId],
    ]),
  )
  return [...removed, ...added]
}

/** Records that the profiles of these pets have changed now. The events contain nothing of them, because partners read events. */
export async function recordProfileUpdates(trx: Trx, petIds: readonly number[], now: number): Promise<void> {
  await touchPets(trx, petIds, now)
  await recordProfileEvents(trx, petIds, now)
}

export async function touchPets(trx: Trx, petIds: readonly number[], now: number): Promise<void> {
  for (const id of petIds) await touchPet(trx, id, now)
}

export async function recordProfileEvents(trx: Trx, petIds: readonly number[], now: number): Promise<void> {
  await recordEvents(
    trx,
    now,
    petIds.map((petId) => ({
      type: 'profile.updated',
      data: { id: petId, petId, updatedAt: timestamp(now) },
    })),
  )
}
