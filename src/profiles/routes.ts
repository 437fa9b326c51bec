import * as z from 'zod'
import { ApiError, apiErrors, orNotFound, validationFailed } from '../api/errors.ts'
import { etagHeader, ifMatchParameter, ifNoneMatchParameter, requireEtag } from '../api/etag.ts'
import { defineOperation, type Operation, respond, type WriteContext } from '../api/operation.ts'
import type { Database } from '../database/database.ts'
import type { Trx } from '../database/db.ts'
import { lockExternalIds } from '../pets/queries.ts'
import { petByIdOperation, petErrors } from '../pets/schemas.ts'
import { bondedMax, futureProblem, isFutureDate, type Profile, updatedProfile } from './profile.ts'
import {
  countBonds,
  findHolder,
  findPetWithProfile,
  lockPets,
  lockWithBonds,
  type PetWithProfile,
  recordProfileUpdates,
  replaceBonds,
  saveProfile,
} from './queries.ts'
import { profileEtag, serializeProfile } from './representation.ts'
import { profileErrors, profileSchema, profileUpdateSchema } from './schemas.ts'
import { isStaffView, viewQuery } from './view.ts'

const profileBytesMax = 256 * 1024

/** Fields whose old values must also leave the write-ahead log when they are cleared or replaced. */
const personalFields = ['location', 'staffNotes'] as const

const respondWithProfile = (animal: PetWithProfile, now: number, isStaff: boolean) => ({
  ...respond(200, serializeProfile(animal, now, isStaff), { ETag: profileEtag(animal, now) }),
  isUncacheable: isStaff,
})

const getProfileOperation = defineOperation('getPetProfile', 'GET /pets/{petId}/profile', {
  ...petByIdOperation,
  stability: 'beta',
  cacheable: 'today',
  summary: 'Get the profile of an animal',
  description:
    'What is known about the animal. Every animal has a profile; a field that is null is unknown. An animal that is not listed has none without `view=staff`.',
  scope: 'pets:read',
  query: z.object(viewQuery),
  requestHeaders: ifNoneMatchParameter,
  responses: {
    200: { description: 'The profile.', schema: profileSchema, headers: etagHeader },
    304: { description: 'The profile has not changed.', headers: etagHeader },
  },
  errors: [apiErrors.insufficient_scope],
  async read({ params: { petId }, query }, context) {
    const isStaff = isStaffView(query, context)
    const animal = await findPetWithProfile(context.db, Number(petId))
    const visible = animal && (isStaff || animal.profile.listed) ? animal : undefined
    return respondWithProfile(orNotFound(visible, petErrors.pet_not_found), context.now, isStaff)
  },
})

const updateProfileOperation = (database: Database) =>
  defineOperation('updatePetProfile', 'PATCH /pets/{petId}/profile', {
    ...petByIdOperation,
    stability: 'beta',
    summary: 'Change the profile of an animal',
    description:
      'Changes the given fields. A given field replaces the whole field, also a list or an object, and `null` clears it. The response has the staff fields.',
    scope: 'pets:write',
    body: profileUpdateSchema,
    jsonBytesMax: profileBytesMax,
    requestHeaders: ifMatchParameter,
    responses: {
      200: { description: 'The profile after the change.', schema: profileSchema, headers: etagHeader },
    },
    errors: [profileErrors.external_id_in_use, apiErrors.precondition_failed],
    subject: ({ params: { petId } }) => `pet ${petId}`,
    async write({ params: { petId }, body }, context) {
      const { trx, now } = context
      const { bondedWith, ...change } = body
      if (change.birthDate && isFutureDate(change.birthDate, now))
        throw validationFailed([{ path: '/birthDate', message: futureProblem }])
      const bonds = bondedWith === undefined ? undefined : [...new Set((bondedWith ?? []).map(Number))]
      if (change.externalId !== undefined || change.source !== undefined) await lockExternalIds(trx)
      const animal = await animalToChange(context, Number(petId), bonds)
      const next = updatedProfile(animal.profile, change)
      await requireFreeExternalId(trx, animal, next)
      const isChanged = JSON.stringify(next) !== JSON.stringify(animal.profile)
      if (isChanged) await saveProfile(trx, animal.pet.id, next)
      const others = bonds ? await replaceBonds(trx, animal.pet.id, bonds) : []
      if (isChanged || others.length > 0) await recordProfileUpdates(trx, [animal.pet.id, ...others], now)
      if (personalFields.some((name) => animal.profile[name] !== null && next[name] !== animal.profile[name]))
        context.afterCommit(() => database.truncateWal())
      const changed = orNotFound(await findPetWithProfile(trx, animal.pet.id), petErrors.pet_not_found)
      return respondWithProfile(changed, now, true)
    },
  })

/** The animal, locked with those that its bonds change, if it matches the `If-Match` header. */
async function animalToChange(context: WriteContext, petId: number, bonds: readonly number[] | undefined) {
  const { trx, now } = context
  const locked = bonds ? await lockWithBonds(trx, petId, bonds) : await lockPets(trx, [petId])
  const animal = orNotFound(await findPetWithProfile(trx, petId), petErrors.pet_not_found)
  requireEtag(profileEtag(animal, now), context)
  if (!bonds) return animal
  const counts = await countBonds(trx, bonds)
  const before = new Set(animal.bonds.map((bond) => bond.petId))
  const problems = bonds.flatMap((id) => {
    if (id === petId) return 'must not contain the animal itself'
    if (!locked.has(id)) return `contains ${id}, but there is no such animal`
    const isFull = !before.has(id) && (counts.get(id) ?? 0) >= bondedMax
    return isFull ? `contains ${id}, which has ${bondedMax} bonds already` : []
  })
  if (problems.length > 0)
    throw validationFailed(problems.map((message) => ({ path: '/bondedWith', message })))
  return animal
}

async function requireFreeExternalId(
  trx: Trx,
  { pet, profile }: PetWithProfile,
  next: Profile,
): Promise<void> {
  if (next.externalId === profile.externalId && next.source === profile.source) return
  const holder = await findHolder(trx, pet.id, next)
  if (holder !== undefined)
    throw new ApiError(
      profileErrors.external_id_in_use,
      `Animal ${holder} has the external id "${next.externalId}"${next.source === '' ? '' : ` of "${next.source}"`}.`,
    )
}

export const profileRoutes = (database: Database): Operation[] => [
  getProfileOperation,
  updateProfileOperation(database),
]
