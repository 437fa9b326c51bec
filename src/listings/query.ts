import { type PetStatus, petStatuses } from '../pets/pet.ts'
import { type AgeGroup, ageGroupAt, birthDatesOf, type Companion, type Profile } from '../profiles/profile.ts'
import * as terms from './terms.ts'
import { compactNumber, wordsOf } from './words.ts'

const prefixLengthMin = 3

/** The statuses of animals that can be adopted. */
export const onOffer = ['available', 'pending'] as const satisfies PetStatus[]

export type ListingFilter = {
  /** Available and pending, unless given; all for staff. */
  status?: readonly PetStatus[] | undefined
  categoryId?: bigint | undefined
  species?: string | undefined
  breed?: string | undefined
  sex?: string | undefined
  size?: string | undefined
  ageGroup?: AgeGroup | undefined
  goodWith?: readonly Companion[] | undefined
  specialNeeds?: 'true' | 'false' | undefined
  q?: string | undefined
  /** Only listed ones, unless given. */
  listed?: 'true' | 'false' | 'any' | undefined
  /** Also searches the staff fields. */
  isStaff?: boolean | undefined
}

/** At least one of the terms must match, or one of the beginnings of terms. */
export type Condition = {
  readonly anyOf: readonly string[]
  readonly beginnings: readonly string[]
  /** The terms are words. */
  readonly isWord?: boolean
}

const validTerm = /^[a-z]{1,3}_[\p{L}\p{N}\p{M}]+$/u

/** The conditions that an animal must meet, all of them. */
export function conditionsOf(filter: ListingFilter, now: number): Condition[] {
  const { categoryId, species, breed, sex, size, ageGroup, goodWith = [], specialNeeds } = filter
  const facets = [
    ...visibilityTerms(filter),
    categoryId !== undefined && [terms.categoryTerm(categoryId)],
    species !== undefined && [terms.speciesTerm(species)],
    breed !== undefined && [terms.breedTerm(breed)],
    sex !== undefined && [terms.sexTerm(sex)],
    size !== undefined && [terms.sizeTerm(size)],
    ageGroup !== undefined && ageTerms(ageGroup, now),
    ...goodWith.map((companion) => [terms.goodWithTerm(companion)]),
    specialNeeds !== undefined && [terms.specialNeedsTerm(specialNeeds === 'true')],
  ]
  const conditions = [
    ...facets.filter((anyOf) => anyOf !== false).map((anyOf) => ({ anyOf, beginnings: [] })),
    ...wordConditions(filter),
  ]
  for (const term of conditions.flatMap(({ anyOf, beginnings }) => [...anyOf, ...beginnings]))
    if (!validTerm.test(term)) throw new Error(`Invariant violated: "${term}" is not a term.`)
  return conditions
}

function visibilityTerms({ status, listed = 'true' }: ListingFilter): (string[] | false)[] {
  const statuses = new Set<PetStatus>(status ?? onOffer)
  if (listed === 'true' && statuses.size === onOffer.length && onOffer.every((each) => statuses.has(each)))
    return [[terms.onOfferTerm]]
  const isAny = petStatuses.every((each) => statuses.has(each))
  return [
    !isAny && [...statuses].map(terms.statusTerm),
    listed !== 'any' && [terms.listedTerm(listed === 'true')],
  ]
}

function wordConditions({ q, isStaff = false }: ListingFilter): Condition[] {
  if (q === undefined) return []
  const words = [...new Map([...wordsOf(q)].map((found) => [found.word, found])).values()]
  if (words.length === 0) return [{ anyOf: [terms.noAnimalTerm], beginnings: [], isWord: true }]
  const conditionOf = ({ word, isPair }: (typeof words)[number], isLast: boolean) => {
    const own = [terms.wordTerm(word), ...(isStaff ? [terms.staffWordTerm(word)] : [])]
    const isOpen = isLast && !isPair && [...word].length >= prefixLengthMin
    return isOpen ? { anyOf: [], beginnings: own } : { anyOf: own, beginnings: [] }
  }
  // The words of a number may be stored as one.
  const [compact, ...others] = wordsOf(compactNumber(q))
  const isOther = compact && others.length === 0 && compact.word !== words[0]?.word
  const number = isOther ? conditionOf(compact, true) : { anyOf: [], beginnings: [] }
  return words.map((found, index) => {
    const own = conditionOf(found, index === words.length - 1)
    const anyOf = [...own.anyOf, ...number.anyOf]
    return { anyOf, beginnings: [...own.beginnings, ...number.beginnings], isWord: true }
  })
}

/** Years that are wholly in the group, and months of the others. The rows at the ends are checked again. */
function ageTerms(group: AgeGroup, now: number): string[] {
  const dates = birthDatesOf(group, now)
  const { after = `${terms.firstYear - 1}-12-31`, through = new Date(now + dayMs).toISOString() } = dates
  const [firstYear, firstMonth] = yearAndMonth(after)
  const [lastYear, lastMonth] = yearAndMonth(through)
  const found = [terms.ageGroupTerm(group)]
  for (let year = firstYear; year <= lastYear; year++) {
    const from = year === firstYear ? firstMonth : 1
    const to = year === lastYear ? lastMonth : 12
    if (year < terms.firstYear || (from === 1 && to === 12)) found.push(terms.birthYearTerm(year))
    else for (let month = from; month <= to; month++) found.push(terms.birthMonthTerm(year, month))
  }
  return found
}
const dayMs = 86_400_000

const yearAndMonth = (date: string) => date.split('-', 2).map(Number) as [year: number, month: number]

/** For the FTS5 extension of SQLite. */
export const toFts5Query = (conditions: readonly Condition[]): string =>
  conditions
    .map(({ anyOf, beginnings }) => `(${[...anyOf, ...beginnings.map((term) => `${term} *`)].join(' OR ')})`)
    .join(' AND ')

/** For the `tsquery` type of PostgreSQL. */
export const toTsquery = (conditions: readonly Condition[]): string =>
  conditions
    .map(({ anyOf, beginnings }) => {
      const found = [...anyOf.map((term) => `'${term}'`), ...beginnings.map((term) => `'${term}':*`)]
      return `(${found.join(' | ')})`
    })
    .join(' & ')

/** Whether the animal meets the conditions, by its terms. What the index must return. */
export function meets(animalTerms: Iterable<string>, conditions: readonly Condition[]): boolean {
  const present = new Set(animalTerms)
  return conditions.every(
    ({ anyOf, beginnings }) =>
      anyOf.some((term) => present.has(term)) ||
      beginnings.some((term) => present.values().some((each) => each.startsWith(term))),
  )
}

/** Whether an animal that the index returned has the age: the index knows the month only. */
export const hasAge = (profile: Profile, { ageGroup }: ListingFilter, now: number): boolean =>
  ageGroup === undefined || ageGroupAt(profile, now) === ageGroup
