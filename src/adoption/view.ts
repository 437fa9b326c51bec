import type { ApiRequest } from '../api/request.ts'
import { listingFilterSchema } from '../listings/schemas.ts'
import { type AgeGroup, ageGroups, type Companion, companions, sexes, sizes } from '../profiles/profile.ts'

/** What a visitor looks at: the filters and the place in the list. Every view has one address. */
export type AdoptionView = {
  readonly q?: string
  readonly species?: string
  readonly sex?: (typeof sexes)[number]
  readonly size?: (typeof sizes)[number]
  readonly ageGroup?: AgeGroup
  readonly goodWith?: readonly Companion[]
  /** The page with the animals next below this id. */
  readonly before?: number
  /** The page with the animals next above this id. */
  readonly after?: number
}

/** In the order that they have in an address. */
const names = ['q', 'species', 'sex', 'size', 'ageGroup', 'goodWith', 'before', 'after'] as const
type Name = (typeof names)[number]

const speciesLengthMax = 40
const idPattern = /^[1-9]\d{0,15}$/

type ReadView = {
  readonly query: URLSearchParams
  readonly view: AdoptionView
  /** The parameters with values that no view has. */
  readonly wrong: readonly Name[]
  /** Whether the parameters are those of the address of the view. Other parameters are ignored. */
  readonly isNormal: boolean
}

const firstPage: ReadView = { query: new URLSearchParams(), view: {}, wrong: [], isNormal: true }
const views = new WeakMap<ApiRequest, ReadView>()

/** The view of a request, which is read once. Empty values are as if they were absent: forms send them. */
export function readView(request: ApiRequest): ReadView {
  const known = views.get(request)
  if (known) return known
  const [, query] = /\?(.*)/s.exec(request.target) ?? []
  const view = query === undefined ? firstPage : readQuery(new URLSearchParams(query))
  views.set(request, view)
  return view
}

function readQuery(query: URLSearchParams): ReadView {
  const given = (name: Name) => query.getAll(name).map(trimmed).filter(Boolean)
  const wrong: Name[] = []
  const one = <T>(name: Name, parse: (text: string) => T | undefined) => {
    const [text] = given(name)
    const value = text === undefined ? undefined : parse(text)
    if (text !== undefined && value === undefined) wrong.push(name)
    return value === undefined ? {} : { [name]: value }
  }
  const before = one('before', readId)
  const goodWith = companions.filter((companion) => given('goodWith').includes(companion))
  if (given('goodWith').some((value) => !goodWith.includes(value as Companion))) wrong.push('goodWith')
  const view: AdoptionView = {
    ...one('q', (text) => text),
    ...one('species', (text) => ([...text].length <= speciesLengthMax ? text.toLowerCase() : undefined)),
    ...one('sex', (text) => sexes.find((value) => value === text)),
    ...one('size', (text) => sizes.find((value) => value === text)),
    ...one('ageGroup', (text) => ageGroups.find((value) => value === text)),
    ...(goodWith.length > 0 && { goodWith }),
    ...before,
    ...(!('before' in before) && one('after', readId)),
  }
  const known = names.flatMap((name) => query.getAll(name).map((value) => [name, value]))
  return { query, view, wrong, isNormal: String(new URLSearchParams(known)) === searchOf(view) }
}

const trimmed = (text: string): string => text.trim().replace(/\s+/g, ' ')

/** The id of an animal in an address. */
export function readId(text: string): number | undefined {
  const id = idPattern.test(text) ? Number(text) : undefined
  return id !== undefined && id < Number.MAX_SAFE_INTEGER ? id : undefined
}

/** The parameters of a view, such as `species=dog&sex=female`. */
export function searchOf(view: AdoptionView): string {
  const pairs = names.flatMap((name) => [view[name] ?? []].flat().map((value) => [name, String(value)]))
  return String(new URLSearchParams(pairs))
}

export const listPath = '/adopt'

/** The address of a view of the list, or of another document about the same animals. */
export function addressOf(view: AdoptionView, path: string = listPath): string {
  const search = searchOf(view)
  return search === '' ? path : `${path}?${search}`
}

export const animalPath = (petId: number): string => `${listPath}/${petId}`

/** The filters of a view, without the place in the list. */
export function filtersOf({ before: _, after: __, ...filters }: AdoptionView): AdoptionView {
  return filters
}

/** Why nothing can be found by these words. Undefined if it can be searched for. */
export const searchProblem = ({ q }: AdoptionView): string | undefined =>
  listingFilterSchema.shape.q.safeParse(q).error?.issues[0]?.message
