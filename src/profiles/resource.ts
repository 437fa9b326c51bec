import * as z from 'zod'
import { systemClock } from '../clock.ts'
import type { Db, Trx } from '../database/db.ts'
import { findStoredPets } from '../pets/storedPets.ts'
import { OwnerConflicts } from '../records/ownerConflicts.ts'
import {
  ConflictError,
  oneByOne,
  type RecordChange,
  type Resource,
  type ResourceRecord,
  recordId,
} from '../records/resource.ts'
import { bondedMax, futureProblem, isFutureDate, type Profile, updatedProfile } from './profile.ts'
import {
  countBonds,
  findPetsWithProfiles,
  findPetWithProfile,
  hasProfile,
  lockWithBonds,
  type PetWithProfile,
  recordProfileEvents,
  replaceBonds,
  saveProfile,
  touchPets,
} from './queries.ts'
import { profileUpdateSchema } from './schemas.ts'

// The record of the pet has the external id.
const { source: _, externalId: __, ...fields } = profileUpdateSchema.shape
const birthDate = fields.birthDate.refine(
  (date) => !date || !isFutureDate(date, systemClock()),
  futureProblem,
)
const schema = z.object({ type: z.literal('profile'), id: recordId, ...fields, birthDate })
type ProfileRecord = z.output<typeof schema>

/** For records that belong to a pet. */
export const petConflicts = <Imported extends ResourceRecord>(
  noun: string,
  ownerOf: (record: Imported) => number,
) =>
  new OwnerConflicts<Imported>({
    owner: { type: 'pet', noun: 'animal' },
    noun,
    ownerOf,
    async findExisting(db, ids) {
      const pets = await findStoredPets(db, db.dialect.isIn('id', ids))
      return new Set(pets.map(({ id }) => id))
    },
  })

export const profileResource: Resource<ProfileRecord, 'profiles'> = {
  type: 'profile',
  countName: 'profiles',
  nouns: ['profile', 'profiles'],
  table: 'profiles',
  idColumn: 'pet_id',
  owner: { type: 'pet', column: 'pet_id' },
  // A profile can have more than 100 KB.
  rowsPerBatch: 200,
  // Those of the pet: it is read again with what it owns.
  events: {},
  positions: [32],
  async toRecords(rows, db) {
    const animals = await findPetsWithProfiles(
      db,
      rows.map(({ pet_id }) => pet_id),
    )
    const byId = new Map(animals.map((animal) => [animal.pet.id, animal]))
    return rows.map(({ pet_id }) => toRecord(byId.get(pet_id) as PetWithProfile))
  },
  schema,
  conflicts: () => petConflicts<ProfileRecord>('profile', ({ id }) => id),
  ...oneByOne(applyProfile, findProfileChange),
  stateOf: (record) => record,
}

function toRecord({ profile, bonds }: PetWithProfile): object {
  const { source: _, externalId: __, ...stored } = profile
  return { ...stored, bondedWith: bonds.map(({ petId }) => petId) }
}

/** What the record makes of the animal. What a record leaves out stays as it is. */
function applied(animal: PetWithProfile, record: ProfileRecord): { profile: Profile; bonds: number[] } {
  const { type: _, id: __, bondedWith, ...change } = record
  const before = animal.bonds.map(({ petId }) => petId)
  return {
    profile: updatedProfile(animal.profile, change),
    bonds: bondedWith === undefined ? before : (bondedWith ?? []).map(Number),
  }
}

const isSame = (animal: PetWithProfile, { profile, bonds }: ReturnType<typeof applied>): boolean =>
  JSON.stringify(profile) === JSON.stringify(animal.profile) &&
  bonds.toSorted((a, b) => a - b).join() === animal.bonds.map(({ petId }) => petId).join()

async function findProfileChange(db: Db, record: ProfileRecord): Promise<RecordChange> {
  if (!(await hasProfile(db, record.id))) return 'added'
  const animal = await findPetWithProfile(db, record.id)
  return animal && isSame(animal, applied(animal, record)) ? 'unchanged' : 'changed'
}

async function applyProfile(trx: Trx, record: ProfileRecord, now: number): Promise<[RecordChange]> {
  const { id } = record
  const given = (record.bondedWith ?? []).map(Number)
  const locked = await lockWithBonds(trx, id, given)
  const animal = await findPetWithProfile(trx, id)
  if (!animal) throw new ConflictError(`There is no animal ${id}, so it cannot have a profile.`)
  const isAdded = !(await hasProfile(trx, id))
  const next = applied(animal, record)
  if (!isAdded && isSame(animal, next)) return ['unchanged']
  await saveProfile(trx, id, next.profile)
  // An animal that was removed from the other database is not in the file.
  const before = new Set(animal.bonds.map(({ petId }) => petId))
  const counts = await countBonds(trx, next.bonds)
  const bonds = [...new Set(next.bonds)].filter(
    (other) =>
      other !== id && locked.has(other) && (before.has(other) || (counts.get(other) ?? 0) < bondedMax),
  )
  const others = await replaceBonds(trx, id, bonds)
  // An animal of another database keeps the time of its last change.
  if (!isAdded) await touchPets(trx, [id, ...others], now)
  await recordProfileEvents(trx, [id, ...others], now)
  return [isAdded ? 'added' : 'changed']
}
