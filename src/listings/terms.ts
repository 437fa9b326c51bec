import { hash } from 'node:crypto'
import type { Pet } from '../pets/pet.ts'
import type { Profile } from '../profiles/profile.ts'
import { compactNumber, fold, wordsOf } from './words.ts'

/**
 * The terms of the search index. Both engines store the same terms of an animal, and a query is a conjunction of terms. A
 * term needs no quotes in either query language.
 */
const wordsMax = 400

/** Earlier years share a term, so that a query for the oldest animals has few alternatives. */
export const firstYear = 1980

/** Text of any length and any characters, as a term of its folded value. */
const hashed = (text: string): string => hash('sha256', foldedValue(text), 'hex').slice(0, 16)
/** What has to be equal for two species or breeds to be the same. */
const foldedValue = (text: string): string => fold(text).trim().replace(/\s+/gu, ' ')

export const statusTerm = (status: string): string => `st_${status}`
/** Available or reserved, and listed: what the public sees. One term in place of two that most animals have. */
export const onOfferTerm = 'on_offer'
export const listedTerm = (isListed: boolean): string => `ls_${isListed ? 'yes' : 'no'}`
export const categoryTerm = (id: bigint): string => `ct_${BigInt.asUintN(64, id)}`
export const speciesTerm = (species: string): string => `sp_${hashed(species)}`
export const breedTerm = (breed: string): string => `br_${hashed(breed)}`
export const sexTerm = (sex: string): string => `sx_${sex}`
export const sizeTerm = (size: string): string => `sz_${size}`
export const goodWithTerm = (companion: string): string => `gw_${companion}`
export const specialNeedsTerm = (value: boolean): string => `sn_${value ? 'yes' : 'no'}`
/** Only without a birth date. */
export const ageGroupTerm = (group: string): string => `ag_${group}`
export const birthYearTerm = (year: number): string => `by_${year < firstYear ? 'before' : year}`
export const birthMonthTerm = (year: number, month: number): string =>
  `bm_${year}${String(month).padStart(2, '0')}`
export const wordTerm = (word: string): string => `w_${word}`
/** A word that only staff can search for. */
export const staffWordTerm = (word: string): string => `s_${word}`

/** No animal has it. */
export const noAnimalTerm = 'no_animal'

type IndexedPet = Pick<Pet, 'name' | 'categoryId' | 'status'>

/** The terms of an animal, each once. */
export const termsOf = (pet: IndexedPet, profile: Profile): string[] => [
  ...facetTermsOf(pet, profile),
  ...wordTermsOf(pet, profile),
]

export function facetTermsOf(pet: IndexedPet, profile: Profile): Set<string> {
  const { species, sex, size, specialNeeds, goodWith } = profile
  const facets = [
    statusTerm(pet.status),
    pet.status !== 'sold' && profile.listed && onOfferTerm,
    listedTerm(profile.listed),
    categoryTerm(pet.categoryId),
    species !== null && speciesTerm(species),
    ...profile.breeds.map(breedTerm),
    sex !== null && sexTerm(sex),
    size !== null && sizeTerm(size),
    ...Object.entries(goodWith).map(([companion, value]) => value === 'yes' && goodWithTerm(companion)),
    specialNeeds !== null && specialNeedsTerm(specialNeeds),
    ...birthTerms(profile),
  ]
  return new Set(facets.filter((term) => term !== false))
}

export function wordTermsOf(pet: IndexedPet, profile: Profile): string[] {
  const { breeds, colors, description } = profile
  const [externalId, microchip] = [profile.externalId ?? '', profile.microchip ?? '']
  const words = wordsIn([pet.name, ...breeds, ...colors, externalId, compactNumber(externalId), description])
  return [...words.map(wordTerm), ...wordsIn([microchip, compactNumber(microchip)]).map(staffWordTerm)]
}

function birthTerms({ birthDate, ageGroup }: Profile): string[] {
  if (birthDate === null) return ageGroup === null ? [] : [ageGroupTerm(ageGroup)]
  const [year = 0, month = 0] = birthDate.split('-').map(Number)
  return [birthYearTerm(year), birthMonthTerm(year, month)]
}

function wordsIn(texts: readonly (string | null)[]): string[] {
  const words = new Set<string>()
  for (const text of texts)
    for (const { word } of wordsOf(text ?? '')) {
      words.add(word)
      if (words.size === wordsMax) return [...words]
    }
  return [...words]
}
