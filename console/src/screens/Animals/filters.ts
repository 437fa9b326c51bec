import { type Operations, type PetStatus, parseInt64 } from '../../../../client/src/index.ts'
import { fold, separators } from '../../../../src/listings/words.ts'
import { petStatuses } from '../../../../src/pets/pet.ts'
import { ageGroups, sexes, sizes } from '../../../../src/profiles/profile.ts'
import { hasScope } from '../../app/session.ts'
import type { Animal } from './animal.ts'

/** Which animals are shown, and how. All of it is in the URL. */

export type View = 'table' | 'gallery'

/** Empty text is any. */
export type Filters = {
  readonly status: PetStatus | ''
  readonly category: string
  readonly species: string
  readonly sex: (typeof sexes)[number] | ''
  readonly age: (typeof ageGroups)[number] | ''
  readonly size: (typeof sizes)[number] | ''
  readonly listed: 'true' | 'false' | ''
  readonly q: string
}

export const noFilters: Filters = {
  ...{ status: '', category: '', species: '', sex: '', age: '', size: '', listed: '', q: '' },
}

const names = Object.keys(noFilters) as (keyof Filters)[]

/** As many as the API accepts. */
const wordsMax = 8
export const textLengthMax = 200
export const speciesLengthMax = 40
/** The API finds the beginning of a word from this length. */
const prefixLengthMin = 3

export function filtersIn(search: string): Filters {
  const query = new URLSearchParams(search)
  const oneOf = <Value extends string>(name: string, values: readonly Value[]): Value | '' =>
    values.find((value) => value === query.get(name)) ?? ''
  const category = query.get('category') ?? ''
  return {
    status: oneOf('status', petStatuses),
    category: /^-?\d{1,19}$/.test(category) ? category : '',
    species: (query.get('species') ?? '').slice(0, speciesLengthMax),
    sex: oneOf('sex', sexes),
    age: oneOf('age', ageGroups),
    size: oneOf('size', sizes),
    listed: oneOf('listed', ['true', 'false']),
    q: (query.get('q') ?? '').slice(0, textLengthMax),
  }
}

export const viewIn = (search: string): View =>
  new URLSearchParams(search).get('view') === 'gallery' ? 'gallery' : 'table'

export function addressOf(filters: Filters, view: View): string {
  const query = new URLSearchParams()
  for (const name of names) {
    const value = filters[name].trim()
    if (value !== '') query.set(name, value)
  }
  if (view !== 'table') query.set('view', view)
  return query.size === 0 ? 'animals' : `animals?${query}`
}

/** How many are chosen, without the search. */
export const countFilters = (filters: Filters): number =>
  names.filter((name) => name !== 'q' && filters[name].trim() !== '').length

export const isFiltered = (filters: Filters): boolean => countFilters(filters) > 0 || filters.q.trim() !== ''

const wordsIn = (text: string): string[] => text.split(separators).filter((word) => word !== '')

/** Whether the last word is too short to be found as the beginning of a longer one. */
export const isLastWordShort = ({ q }: Filters): boolean =>
  [...(wordsIn(q).at(-1) ?? 'long')].length < prefixLengthMin

/** Staff sees all animals. Keys that cannot change animals see what is public. */
export const viewQuery = (): { view?: 'staff' } => (hasScope('pets:write') ? { view: 'staff' } : {})

export function queryOf(filters: Filters): NonNullable<Operations['listListings']['query']> {
  const { status, category, species, sex, age, size, listed, q } = filters
  const isStaff = hasScope('pets:write')
  const words = wordsIn(q).length > wordsMax ? wordsIn(q).slice(0, wordsMax).join(' ') : q.trim()
  return {
    ...viewQuery(),
    listed: isStaff ? listed || 'any' : undefined,
    status: status === '' ? (isStaff ? undefined : [...petStatuses]) : [status],
    categoryId: category === '' ? undefined : parseInt64(category),
    species: species.trim() || undefined,
    sex: sex || undefined,
    ageGroup: age || undefined,
    size: size || undefined,
    q: words || undefined,
  }
}

/** Whether a changed animal still meets the filters. Only the API can tell whether it matches the search. */
export function meetsFilters(animal: Animal, filters: Filters): boolean {
  const { status, category, species, sex, age, size, listed } = filters
  const isAnyOr = (wanted: string, value: string | null) => wanted === '' || wanted === value
  return (
    isAnyOr(status, animal.status) &&
    isAnyOr(category, String(animal.categoryId)) &&
    isAnyOr(fold(species.trim()), fold(animal.species ?? '')) &&
    isAnyOr(sex, animal.sex) &&
    isAnyOr(age, animal.ageGroup) &&
    isAnyOr(size, animal.size) &&
    isAnyOr(listed, String(animal.listed))
  )
}
