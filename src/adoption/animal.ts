import type { Pet } from '../pets/pet.ts'
import type { PhotoRow } from '../photos/queries.ts'
import type { Profile } from '../profiles/profile.ts'
import type { PetWithProfile } from '../profiles/queries.ts'
import { serializeProfile } from '../profiles/representation.ts'

/** What everyone may know of an animal: what the API shows without `view=staff`. */
export type PublicProfile = Omit<Profile, 'microchip' | 'location' | 'staffNotes'> & {
  readonly bondedWith: readonly number[]
  readonly adoptedOn: string | null
  readonly createdAt: string | null
  readonly updatedAt: string | null
}

export type ShownAnimal = {
  readonly pet: Pet
  readonly profile: PublicProfile
  readonly photos: readonly PhotoRow[]
}

export const shownAnimal = (
  animal: PetWithProfile,
  photos: readonly PhotoRow[] = [],
  now: number,
): ShownAnimal => ({
  pet: animal.pet,
  profile: serializeProfile(animal, now, false),
  photos,
})
