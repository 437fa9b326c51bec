import type { PetStatus } from '../pets/pet.ts'
import type { Companion, Profile, ProfileUpdate } from '../profiles/profile.ts'

/** What a file says about the profile of an animal. What it leaves out stays as it is, also inside objects. */
export type ImportedProfile = Omit<ProfileUpdate, 'goodWith' | 'attributes' | 'source' | 'externalId'> & {
  goodWith?: { readonly [Name in Companion]?: Profile['goodWith'][Name] }
  attributes?: Readonly<Record<string, string>>
}

/** An animal as the cells of a CSV file describe it. It can be stored as JSON. */
export type ImportedAnimal = {
  id?: number
  source?: string
  externalId?: string
  name?: string
  /** The id or the name of its category. */
  category?: string
  /** The species as it is written in the file. It names the category if nothing else does. */
  kind?: string
  status?: PetStatus
  adoptedOn?: string
  profile?: ImportedProfile
  /** From the age. A birth date that is stored and differs by less than these days stays. */
  approximateBirth?: { readonly date: string; readonly toleranceDays: number }
  /** Addresses, or names of files. */
  photos?: readonly string[]
  /** What blank cells mean, unless a line of the animal says otherwise. */
  assumed?: ImportedAnimal | undefined
}

/** What several cells, or several lines, say about one animal. The first one decides, and lists continue. */
export function mergeAnimals(first: ImportedAnimal, second: ImportedAnimal): ImportedAnimal {
  const merged: ImportedAnimal = { ...second, ...first }
  if (first.profile && second.profile) merged.profile = mergeProfiles(first.profile, second.profile)
  if (first.photos && second.photos) merged.photos = distinct([...first.photos, ...second.photos])
  return merged
}

function mergeProfiles(first: ImportedProfile, second: ImportedProfile): ImportedProfile {
  const merged: ImportedProfile = { ...second, ...first }
  for (const list of ['breeds', 'colors'] as const)
    if (first[list] && second[list]) merged[list] = distinct([...first[list], ...second[list]])
  if (first.goodWith && second.goodWith) merged.goodWith = { ...second.goodWith, ...first.goodWith }
  // In the order of the columns.
  if (first.attributes && second.attributes)
    merged.attributes = { ...first.attributes, ...second.attributes, ...first.attributes }
  // One reason to hide an animal is enough.
  if (first.listed === false || second.listed === false) merged.listed = false
  return merged
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)]
