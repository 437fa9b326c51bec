import type { Db } from '../database/db.ts'
import { findListings, findListingsAbove } from '../listings/queries.ts'
import { onOffer } from '../listings/query.ts'
import { findPhotos } from '../photos/queries.ts'
import { findPetsWithProfiles, type PetWithProfile } from '../profiles/queries.ts'
import { type ShownAnimal, shownAnimal } from './animal.ts'
import { type AdoptionView, filtersOf } from './view.ts'

export type AnimalPage = {
  readonly animals: readonly ShownAnimal[]
  readonly hasPrevious: boolean
  readonly hasNext: boolean
}

/** One page of the animals on offer, newest first. */
export async function findAnimalPage(
  db: Db,
  view: AdoptionView,
  limit: number,
  now: number,
): Promise<AnimalPage> {
  const filter = filtersOf(view)
  // One more, to know whether there is another page.
  if (view.after !== undefined) {
    const { animals: found } = await findListingsAbove(db, limit + 1, view.after, filter, now)
    // Closer to the newest one than a page: the first page has them all.
    if (found.length >= limit)
      return {
        animals: await withPhotos(db, found.slice(-limit), now),
        hasPrevious: found.length > limit,
        hasNext: true,
      }
  }
  const { animals: found } = await findListings(db, limit + 1, view.before, filter, now)
  return {
    animals: await withPhotos(db, found.slice(0, limit), now),
    hasPrevious: view.before !== undefined,
    hasNext: found.length > limit,
  }
}

async function withPhotos(db: Db, animals: readonly PetWithProfile[], now: number): Promise<ShownAnimal[]> {
  const photos = await findPhotos(
    db,
    animals.map(({ pet }) => pet.id),
  )
  return animals.map((animal) => shownAnimal(animal, photos.get(animal.pet.id), now))
}

/** The listed animals with these ids, in this order. */
export async function findAnimals(db: Db, ids: readonly number[], now: number): Promise<ShownAnimal[]> {
  const animals = await findPetsWithProfiles(db, ids)
  const listed = animals.filter(({ profile }) => profile.listed)
  return withPhotos(
    db,
    listed.toSorted((a, b) => ids.indexOf(a.pet.id) - ids.indexOf(b.pet.id)),
    now,
  )
}

/** How many of the newest animals of a status are counted. */
const countedMax = 500
const speciesMax = 12

export type Kinds = {
  /** Of all animals on offer. Undefined if there are more than are counted. */
  readonly total: number | undefined
  /** The most frequent species, in alphabetical order. */
  readonly species: readonly string[]
}

/** The kinds of animals on offer, by the newest ones. */
export async function findKinds(db: Db): Promise<Kinds> {
  const counts = new Map<string, number>()
  let total = 0
  let isComplete = true
  for (const rows of await Promise.all(onOffer.map((status) => countNewest(db, status)))) {
    const counted = rows.reduce((sum, { count }) => sum + Number(count), 0)
    isComplete &&= counted <= countedMax
    for (const { species, isListed, count } of rows) {
      if (isListed === 0) continue
      total += Number(count)
      if (species !== null) counts.set(species, (counts.get(species) ?? 0) + Number(count))
    }
  }
  const frequent = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, speciesMax)
  return { total: isComplete ? total : undefined, species: frequent.map(([name]) => name).sort() }
}

/** Also those that are not listed: any number of them could be newer than the first listed one. */
async function countNewest(db: Db, status: string) {
  const pets = db
    .selectFrom('pets')
    .leftJoin('profiles', 'profiles.pet_id', 'pets.id')
    .select([db.dialect.jsonText('data', 'species').as('species'), 'listed as isListed'])
  const newest = db.dialect
    .keysetPage(pets, [['status', status]], Number.MAX_SAFE_INTEGER)
    .limit(countedMax + 1)
  return db
    .selectFrom(newest.as('newest'))
    .select(['species', 'isListed', ({ fn }) => fn.countAll<number>().as('count')])
    .groupBy(['species', 'isListed'])
    .execute()
}
