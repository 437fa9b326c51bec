import type { Db, Trx } from '../database/db.ts'
import { applyPets, externalKey, findPetChanges, findPetsOf, type PetOrders } from '../pets/importPets.ts'
import type { PetStatus } from '../pets/pet.ts'
import { lockExternalIds } from '../pets/queries.ts'
import type { PetRecord } from '../pets/record.ts'
import { emptyProfile, type Profile, updatedProfile } from '../profiles/profile.ts'
import { findPetsWithProfiles, recordProfileEvents, saveProfile, touchPets } from '../profiles/queries.ts'
import { attributesMax } from '../profiles/schemas.ts'
import type { RecordChange } from '../records/resource.ts'
import type { ImportedAnimal } from './animal.ts'
import type { CategoryIds } from './categories.ts'
import { daysBetween } from './values/dates.ts'

/** A pet of a file with its profile. */
export type AnimalRecord = {
  readonly type: 'animal'
  readonly pet: PetRecord
  readonly animal: ImportedAnimal
  /** Set when the record has been applied. */
  petId?: number
  /** What could not be stored of it. Set when the record has been applied. */
  problem?: string
}

/** The record of an animal of a file. Its category is known, or it is left out. */
export function toAnimalRecord(animal: ImportedAnimal, categoryIds: CategoryIds): AnimalRecord {
  const { id, name = '', category = '', status, externalId, source, adoptedOn } = animal
  const categoryId = categoryIds.get(category) ?? 0n
  const pet: PetRecord = { type: 'pet', id, name, categoryId, status, externalId, source, adoptedOn }
  return { type: 'animal', pet, animal }
}

/** Adds new animals and changes existing ones with their profiles, and returns what it did with each. */
export async function applyAnimals(
  trx: Trx,
  records: readonly AnimalRecord[],
  now: number,
  orders: PetOrders,
): Promise<RecordChange[]> {
  const pets = await petsWithIds(trx, records, now)
  for (const [at, record] of records.entries()) record.petId = pets[at]?.id as number
  const changes = await applyPets(trx, pets, now, orders)
  const areChanged = await applyProfiles(trx, records, changes, now)
  return changes.map((change, at) => (change === 'unchanged' && areChanged[at] ? 'changed' : change))
}

/** New pets get their ids here, because their profiles need them. */
async function petsWithIds(trx: Trx, records: readonly AnimalRecord[], now: number): Promise<PetRecord[]> {
  const pets = records.map(({ pet }) => pet)
  if (pets.some(({ externalId }) => externalId !== undefined)) await lockExternalIds(trx)
  const stored = (await findPetsOf(trx, pets)).filter(({ externalId }) => externalId !== null)
  const idsByKey = new Map(stored.map((pet) => [externalKey(pet), pet.id]))
  // First, because one of the given ids may be the next free id.
  await trx.dialect.reserveIds(trx, 'pets', Math.max(0, ...pets.map(({ id = 0 }) => id)))
  const isUnknown = (pet: PetRecord) => pet.id === undefined && !idsByKey.has(keyOf(pet) ?? '')
  const assigned = await trx.dialect.assignIds(trx, 'pets', pets.filter(isUnknown).length)
  return pets.map((pet) => {
    const key = keyOf(pet)
    const existing = pet.id ?? idsByKey.get(key ?? '')
    if (existing !== undefined) return { ...pet, id: existing }
    const id = assigned.shift() as number
    // A later line can be about the same animal.
    if (key !== undefined) idsByKey.set(key, id)
    return { ...pet, id, createdAt: now }
  })
}

const keyOf = (pet: PetRecord): string | undefined =>
  pet.externalId === undefined ? undefined : externalKey(pet)

/** Changes the profiles of pets that the transaction has locked or added. Returns whether each record changed one. */
async function applyProfiles(
  trx: Trx,
  records: readonly AnimalRecord[],
  changes: readonly RecordChange[],
  now: number,
): Promise<boolean[]> {
  const ids = [...new Set(records.map(({ petId }) => petId as number))]
  const returned = await findReturned(trx, ids)
  const profiles = new Map(
    (await findPetsWithProfiles(trx, ids)).map(({ pet, profile }) => [pet.id, profile]),
  )
  const changed = new Map<number, Profile>()
  const areChanged = records.map((record) => {
    const { petId = 0, animal } = record
    const profile = changed.get(petId) ?? (profiles.get(petId) as Profile)
    const next = importedProfile(profile, animal, returned.has(petId))
    const leftOut = Object.keys(animal.profile?.attributes ?? {}).filter((name) => !(name in next.attributes))
    if (leftOut.length > 0)
      record.problem = `These attributes are left out, because an animal can have ${attributesMax}: ${leftOut.join(', ')}`
    const isChanged = JSON.stringify(next) !== JSON.stringify(profile)
    if (isChanged) changed.set(petId, next)
    return isChanged
  })
  for (const [id, profile] of changed) await saveProfile(trx, id, profile)
  if (returned.size > 0)
    await trx
      .updateTable('profiles')
      .set({ missing_since: null })
      .where(trx.dialect.isIn('pet_id', [...returned]))
      .execute()
  const added = new Set(records.flatMap(({ petId = 0 }, at) => (changes[at] === 'added' ? petId : [])))
  await touchPets(
    trx,
    [...changed.keys()].filter((id) => !added.has(id)),
    now,
  )
  await recordProfileEvents(trx, [...changed.keys()], now)
  return areChanged
}

/** The pets among these that were unlisted because they were missing from a file. */
async function findReturned(db: Db, ids: readonly number[]): Promise<Set<number>> {
  const rows = await db
    .selectFrom('profiles')
    .select('pet_id')
    .where(db.dialect.isIn('pet_id', ids))
    .where('missing_since', 'is not', null)
    .execute()
  return new Set(rows.map(({ pet_id }) => pet_id))
}

/** The profile with what the file says. An animal that has returned is listed again, unless the file says otherwise. */
function importedProfile(stored: Profile, animal: ImportedAnimal, isReturned: boolean): Profile {
  const { goodWith, attributes, ...change } = animal.profile ?? {}
  const approximateBirth = change.birthDate === undefined ? animal.approximateBirth : undefined
  const isBetter =
    approximateBirth &&
    (stored.birthDate === null ||
      (stored.birthDateEstimated === true &&
        daysBetween(stored.birthDate, approximateBirth.date) > approximateBirth.toleranceDays))
  const all = Object.entries({ ...stored.attributes, ...attributes })
  return updatedProfile(stored, {
    ...(isBetter && { birthDate: approximateBirth.date, birthDateEstimated: true }),
    ...(isReturned && { listed: true }),
    ...change,
    goodWith: { ...stored.goodWith, ...goodWith },
    attributes: Object.fromEntries(all.slice(0, attributesMax)),
  })
}

/** What an import would do with an animal, and what would be stored of it. */
export type AnimalPreview = {
  readonly change: RecordChange
  /** Undefined for a new animal. */
  readonly petId: number | undefined
  readonly status: PetStatus
  readonly profile: Profile
}

/** What an import of these animals would do. */
export async function previewAnimals(db: Db, records: readonly AnimalRecord[]): Promise<AnimalPreview[]> {
  const pets = records.map(({ pet }) => pet)
  const changes = await findPetChanges(db, pets)
  const stored = await findPetsOf(db, pets)
  const byKey = new Map(stored.map((pet) => [externalKey(pet), pet.id]))
  const ids = pets.map((pet) => pet.id ?? byKey.get(keyOf(pet) ?? ''))
  const known = ids.filter((id) => id !== undefined)
  const returned = await findReturned(db, known)
  const animals = await findPetsWithProfiles(db, known)
  const byId = new Map(animals.map((each) => [each.pet.id, each]))
  return records.map(({ pet, animal }, at) => {
    const id = ids[at] ?? 0
    const existing = byId.get(id)
    const { source = '', externalId = null } = pet
    const before = existing?.profile ?? { ...emptyProfile, source, externalId }
    const next = importedProfile(before, animal, returned.has(id))
    const isChanged = existing !== undefined && JSON.stringify(next) !== JSON.stringify(before)
    const change = changes[at] as RecordChange
    return {
      change: change === 'unchanged' && isChanged ? 'changed' : change,
      petId: existing?.pet.id,
      status: pet.status ?? existing?.pet.status ?? 'available',
      profile: externalId === null ? next : { ...next, source, externalId },
    }
  })
}
