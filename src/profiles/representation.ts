import { etagOf } from '../api/etag.ts'
import { timestamp } from '../clock.ts'
import { ageGroupAt, summaryOf } from './profile.ts'
import type { PetWithProfile } from './queries.ts'

const optionalTime = (ms: number | null) => (ms === null ? null : timestamp(ms))

/** A profile as it is returned. Without `isStaff`, the staff's fields and animals that are not listed are left out. */
export function serializeProfile(animal: PetWithProfile, now: number, isStaff: boolean) {
  const { pet, profile, bonds, adoptedOn, createdAt, updatedAt } = animal
  const { microchip, location, staffNotes, ...shared } = profile
  const bondedWith = bonds.filter(({ isListed }) => isStaff || isListed).map(({ petId }) => petId)
  return {
    petId: pet.id,
    ...shared,
    ...(isStaff && { microchip, location, staffNotes }),
    ageGroup: ageGroupAt(profile, now),
    bondedWith,
    adoptedOn,
    createdAt: optionalTime(createdAt),
    updatedAt: optionalTime(updatedAt),
  }
}

/** A profile in a list of animals: the beginning of the description in place of all of it. */
export function serializeProfileSummary(animal: PetWithProfile, now: number, isStaff: boolean) {
  const { description: _, ...profile } = serializeProfile(animal, now, isStaff) as Record<string, unknown>
  return { ...profile, summary: summaryOf(animal.profile.description) }
}

/**
 * The same for all views, so that a change of a staff's field is noticed. The times are not part of it: a new photo must not
 * make a change of the description fail.
 */
export function profileEtag(animal: PetWithProfile, now: number): string {
  const { profile, bonds, adoptedOn, data } = animal
  const { source, externalId, listed } = profile
  const others = bonds.map(({ petId, isListed }) => [petId, isListed])
  const ageGroup = ageGroupAt(profile, now)
  return etagOf(JSON.stringify([data, source, externalId, listed, others, adoptedOn, ageGroup]))
}
