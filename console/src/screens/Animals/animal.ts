import type { Int64, Listing, ListingEtags, Pet, Photo } from '../../../../client/src/index.ts'
import { describeAge } from '../../../../src/profiles/age.ts'
import { now } from '../../app/clock.ts'
import { capitalize } from '../../app/format.ts'
import { newestFirst } from '../../app/ids.ts'

/** An animal as the Animals screen shows it. Only what it needs is in memory: there can be 20,000. */

export type Animal = Pet & {
  readonly listed: boolean
  readonly species: string | null
  readonly sex: string | null
  readonly ageGroup: string | null
  readonly size: string | null
  readonly location: string | null
  /** "Dog · Beagle mix · 2 years". Empty if nothing is known. */
  readonly about: string
  readonly photo: Pick<Photo, 'id' | 'alt' | 'color' | 'width' | 'height'> | undefined
  /** Undefined if the animal has changed since its listing was read. */
  readonly etags: ListingEtags | undefined
}

export function toAnimal({ pet, profile, photos, etags }: Listing): Animal {
  const { listed, species, sex, ageGroup, size, location = null } = profile
  const [photo] = photos
  return {
    ...pet,
    ...{ listed, species, sex, ageGroup, size, location, etags },
    about: describe(profile),
    photo: photo && {
      id: photo.id,
      alt: photo.alt,
      color: photo.color,
      width: photo.width,
      height: photo.height,
    },
  }
}

/** An animal that has just been added. */
export const withoutProfile = (pet: Pet): Animal => ({
  ...pet,
  ...{ listed: true, species: null, sex: null, ageGroup: null, size: null, location: null },
  ...{ about: '', photo: undefined, etags: undefined },
})

/** The animal after a change of its name, category or status. */
export const withPet = (animal: Animal, pet: Pet): Animal => ({ ...animal, ...pet, etags: undefined })

type Described = Pick<
  Listing['profile'],
  'species' | 'breeds' | 'mixed' | 'birthDate' | 'birthDateEstimated' | 'ageGroup'
>

function describe({ species, breeds, mixed, birthDate, birthDateEstimated, ageGroup }: Described): string {
  const breed = [breeds.join(' and '), mixed && 'mix'].filter(Boolean).join(' ')
  const age =
    birthDate === null ? capitalize(ageGroup ?? '') : describeAge(birthDate, birthDateEstimated, now())
  return [capitalize(species ?? ''), capitalize(breed), age].filter((part) => part !== '').join(' · ')
}

/** The items and one more, newest first. */
export const withAnimal = (animals: readonly Animal[], added: Animal): Animal[] =>
  [added, ...animals.filter(({ id }) => id !== added.id)].sort(newestFirst)

/** "ML" for "Milo Lopez". */
export const initialsOf = (name: string): string =>
  name
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase())
    .join('')

export const photoUrl = (photoId: string, width: 320 | 640): string => `/photos/${photoId}/${width}.webp`

/** One of a few colors, always the same for an animal. */
export const colorOf = (id: Int64, count: number): number => Number(BigInt(id) % BigInt(count))

/** What is shown below the name. */
export const detailsOf = ({ listed, about }: Pick<Animal, 'listed' | 'about'>): string =>
  [...(listed ? [] : ['Not listed']), ...(about === '' ? [] : [about])].join(' · ')
