import { toJson } from '../api/json.ts'
import { serializePhoto } from '../photos/schemas.ts'
import { summaryOf } from '../profiles/profile.ts'
import type { StoreProfile } from '../store/store.ts'
import type { ShownAnimal } from './animal.ts'
import { headlineOf } from './facts.ts'
import type { AnimalPage } from './queries.ts'
import { type AdoptionView, addressOf, animalPath, filtersOf } from './view.ts'

export const jsonPath = '/adopt/animals.json'
const limitDefault = 24
const limitMax = 100

/** The number of animals on a page. Undefined if it is wrong. */
export function parseLimit(text: string | null): number | undefined {
  if (text === null || text === '') return limitDefault
  const limit = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : undefined
  return limit !== undefined && limit <= limitMax ? limit : undefined
}

type JsonOptions = {
  readonly view: AdoptionView
  readonly limit: number
  readonly page: AnimalPage
  readonly store: StoreProfile
  /** Empty if it is not known: then addresses are relative to that of the document. */
  readonly publicUrl: string
  readonly now: number
}

/** The animals of a view for other web sites: listings as the API has them, and texts that are ready to be shown. */
export function renderAnimalsJson({ view, limit, page, store, publicUrl, now }: JsonOptions): string {
  const { adoptionPage: _, ...contact } = store
  const last = page.hasNext ? page.animals.at(-1)?.pet.id : undefined
  const next = last === undefined ? null : addressOf({ ...filtersOf(view), before: last }, jsonPath)
  return toJson({
    store: contact,
    url: `${publicUrl}${addressOf(filtersOf(view))}`,
    animals: page.animals.map((animal) => serializeAnimal(animal, publicUrl, now)),
    next: next && `${publicUrl}${next}${limit === limitDefault ? '' : `&limit=${limit}`}`,
  })
}

function serializeAnimal({ pet, profile, photos }: ShownAnimal, publicUrl: string, now: number) {
  const { description, ...others } = profile
  return {
    url: `${publicUrl}${animalPath(pet.id)}`,
    headline: headlineOf(profile, now),
    pet,
    profile: { ...others, summary: summaryOf(description) },
    photos: photos.map((photo, position) => serializePhoto(photo, position, publicUrl)),
  }
}
