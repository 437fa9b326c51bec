import { counted, describeAge } from '../profiles/age.ts'
import type { AgeGroup } from '../profiles/profile.ts'
import type { PublicProfile } from './animal.ts'

/** What is known about an animal, in words. What is unknown is left out. */

export const sexWords = { female: 'Female', male: 'Male' }
export const sizeWords = { small: 'Small', medium: 'Medium', large: 'Large', xlarge: 'Extra large' }
export const ageWords: Record<AgeGroup, string> = {
  baby: 'Baby',
  young: 'Young',
  adult: 'Adult',
  senior: 'Senior',
}
export const companionWords = { children: 'Children', dogs: 'Dogs', cats: 'Cats' }
const coatWords = {
  hairless: 'Hairless',
  short: 'Short',
  medium: 'Medium',
  long: 'Long',
  wire: 'Wire',
  curly: 'Curly',
}

export const capitalized = (text: string): string => {
  const [first = '', ...rest] = text
  return first.toUpperCase() + rest.join('')
}

function ageOf({ birthDate, birthDateEstimated, ageGroup }: PublicProfile, now: number) {
  if (birthDate === null) return ageGroup === null ? undefined : ageWords[ageGroup]
  return describeAge(birthDate, birthDateEstimated, now)
}

export function breedOf({ breeds, mixed, species }: PublicProfile): string | undefined {
  const breed = breeds.join(' and ')
  if (breed === '') return species === null ? undefined : capitalized(species)
  return mixed ? `${breed} mix` : breed
}

const sexOf = ({ sex }: PublicProfile) => sex && sexWords[sex]

/** A line ends after the sign, not before it. */
const inOneLine = (parts: readonly (string | null | undefined)[]): string =>
  parts.filter(Boolean).join('\u00a0· ')

/** The age and the sex, such as "3 years · Female". */
export const ageAndSexOf = (profile: PublicProfile, now: number): string =>
  inOneLine([ageOf(profile, now), sexOf(profile)])

/** The animal in one line, such as "Labrador Retriever mix · 3 years · Female". */
export const headlineOf = (profile: PublicProfile, now: number): string =>
  inOneLine([breedOf(profile), ageAndSexOf(profile, now)])

function feeOf({ fee }: PublicProfile): string | undefined {
  if (fee === null) return undefined
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: fee.currency })
  const digits = format.resolvedOptions().maximumFractionDigits ?? 0
  return fee.amount === 0 ? 'No fee' : format.format(fee.amount / 10 ** digits)
}

type GoodWith = PublicProfile['goodWith']

/** The companions with one of these values, such as "Children from 6, some dogs". */
function companionsOf({ goodWith, minChildAge }: PublicProfile, values: readonly string[]): string {
  const list = Object.keys(companionWords)
    .map((name) => [name, goodWith[name as keyof GoodWith]] as const)
    .filter(([, value]) => value !== null && values.includes(value))
    .map(([name, value]) => {
      const from = name === 'children' && minChildAge && value !== 'no' ? ` from ${minChildAge}` : ''
      return `${value === 'selective' ? 'some ' : ''}${name}${from}`
    })
  return capitalized(list.join(', '))
}

const answer = (value: boolean | null) => (value === null ? undefined : value ? 'Yes' : 'No')

const dateOf = (date: string | null) =>
  date === null
    ? undefined
    : new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(date))

/** The names and values of all that is known. */
export function factsOf(profile: PublicProfile, now: number): [name: string, value: string][] {
  const { species, size, coat, colors, minChildAge, goodWith } = profile
  const facts: [name: string, value: string | null | undefined | false][] = [
    ['Kind', profile.breeds.length > 0 && species !== null && capitalized(species)],
    [profile.breeds.length > 0 ? 'Breed' : 'Kind', breedOf(profile)],
    ['Sex', sexOf(profile)],
    ['Age', ageOf(profile, now)],
    ['Size', size && sizeWords[size]],
    ['Color', capitalized(colors.join(', '))],
    ['Coat', coat && coatWords[coat]],
    ['Good with', companionsOf(profile, ['yes', 'selective'])],
    ['Not with', companionsOf(profile, ['no'])],
    ['Children from', goodWith.children === null && minChildAge ? counted(minChildAge, 'year') : undefined],
    ['Spayed or neutered', answer(profile.altered)],
    ['Vaccinated', answer(profile.vaccinated)],
    ['House-trained', answer(profile.houseTrained)],
    ['Declawed', answer(profile.declawed)],
    ['Special needs', answer(profile.specialNeeds)],
    ['Here since', dateOf(profile.arrivedOn)],
    ['Fee', feeOf(profile)],
    ['Reference', profile.externalId],
    ...Object.entries(profile.attributes),
  ]
  return facts.filter((fact): fact is [string, string] => Boolean(fact[1]))
}
