import { parseInt64 } from '../../api/json.ts'
import { type PetStatus, petStatuses } from '../../pets/pet.ts'
import {
  type AgeGroup,
  ageGroups,
  coats,
  compatibilities,
  futureProblem,
  isFutureDate,
  sizes,
} from '../../profiles/profile.ts'
import type { ImportedAnimal, ImportedProfile } from '../animal.ts'
import { type DateOrder, parseAge, parseDate, parsePartOfDate } from './dates.ts'
import { simplify, valuesByWord } from './simplify.ts'
import {
  ageGroupWords,
  coatWords,
  compatibilityWords,
  flagWords,
  noWords,
  sexWords,
  sizeWords,
  statusWords,
  unknownWords,
  yesWords,
} from './words.ts'

/** A cell is wrong. The message says what it must be, after the heading of its column. */
export class ValueError extends Error {}

export type ReadContext = {
  readonly now: number
  /** Without it, a date is only understood if it begins with the year or has the name of the month. */
  readonly dateOrder?: DateOrder | undefined
  /** Of amounts without one. */
  readonly currency?: string | undefined
}

/** What a cell says about an animal. Undefined if it says that nothing is known. */
export type ValueReader = (text: string, context: ReadContext) => ImportedAnimal | undefined

/** No value that is not a text is longer. */
const valueLengthMax = 200

const unknown = new Set(unknownWords.split(', '))
export const isUnknown = (text: string): boolean => isAmong(unknown, text) || /^[\s\-–—?./*]*$/.test(text)

const yes = new Set(yesWords.split(', '))
const no = new Set(noWords.split(', '))
const isAmong = (words: ReadonlySet<string>, text: string) =>
  text.length <= valueLengthMax && words.has(simplify(text))
export const isYes = (text: string): boolean => isAmong(yes, text)
export const isNo = (text: string): boolean => isAmong(no, text)

const listOf = (values: readonly string[]): string => `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`

/** The value of a word. */
function wordReader(words: Readonly<Record<string, string>>, expected: string) {
  const values = valuesByWord(words)
  return (text: string): string => {
    const value = text.length > valueLengthMax ? undefined : values.get(simplify(text))
    if (value === undefined) throw new ValueError(`must be ${expected}`)
    return value
  }
}

const profile = (values: ImportedProfile): ImportedAnimal => ({ profile: values })

export function flag(field: 'listed' | keyof typeof flagWords): ValueReader {
  const { yes, no } = flagWords[field] ?? {}
  const join = (...lists: (string | undefined)[]) => lists.filter((list) => list !== undefined).join(', ')
  const read = wordReader({ yes: join(yesWords, yes), no: join(noWords, no) }, 'yes or no')
  return (text) => profile({ [field]: read(text) === 'yes' })
}

const statusExpected = `${petStatuses.join(', ')}, or a word for one of these such as adoptable, reserved or adopted`
const readStatus = wordReader(statusWords, statusExpected)
export const status: ValueReader = (text) => ({ status: readStatus(text) as PetStatus })

const readSex = wordReader(sexWords, 'male, female or unknown')
/** Also "neutered male", which says more. */
export const sex: ValueReader = (text) => {
  const [value, altered] = readSex(text).split(', ')
  return profile({
    sex: value as 'male' | 'female',
    ...(altered !== undefined && { altered: altered === 'altered' }),
  })
}

const readSize = wordReader(sizeWords, listOf(sizes))
export const size: ValueReader = (text) => profile({ size: readSize(text) as (typeof sizes)[number] })

const readCoat = wordReader(coatWords, listOf(coats))
export const coat: ValueReader = (text) => profile({ coat: readCoat(text) as (typeof coats)[number] })

const readAgeGroup = wordReader(
  ageGroupWords,
  `an age such as 2 years or 2Y/ 4M/ 26D, or one of ${listOf(ageGroups)}`,
)
export const age: ValueReader = (text, { now }) => {
  const approximateBirth = text.length > valueLengthMax ? undefined : parseAge(text, now)
  return approximateBirth ? { approximateBirth } : profile({ ageGroup: readAgeGroup(text) as AgeGroup })
}

const readCompatibility = wordReader(
  {
    ...compatibilityWords,
    yes: `${yesWords}, ${compatibilityWords.yes}`,
    no: `${noWords}, ${compatibilityWords.no}`,
  },
  listOf(compatibilities),
)
/** Children from an age, such as "over 5", "5+" or "8 and up". */
const fromAge =
  /^(?:(?:over|from|older than|age|ages)\s+(\d{1,2})|(\d{1,2})\s*(?:\+|years? \+|and (?:up|over|older)|or older))\+?$/i

export const goodWith =
  (companion: 'children' | 'dogs' | 'cats'): ValueReader =>
  (text) => {
    const [, over, orMore] = (companion === 'children' && text.length < 40 && fromAge.exec(text)) || []
    const years = over ?? orMore
    if (years !== undefined)
      return profile({ goodWith: { [companion]: 'selective' }, minChildAge: Math.min(18, Number(years)) })
    const value = readCompatibility(text) as (typeof compatibilities)[number]
    return profile({ goodWith: { [companion]: value } })
  }

function readDate(text: string, { dateOrder, now }: ReadContext): string {
  const date = text.length > valueLengthMax ? undefined : parseDate(text, dateOrder, now)
  if (date !== undefined) return date
  const isOrderMissing = dateOrder === undefined && /^\d{1,2}[-/. ]+\d{1,2}[-/. ]+\d{2,4}\b/.test(text)
  throw new ValueError(
    `must be a date such as 2026-01-31${isOrderMissing ? ', unless the date order (dmy, mdy or ymd) is given' : ''}`,
  )
}

export const birthDate: ValueReader = (text, context) => {
  const part = text.length > valueLengthMax ? undefined : parsePartOfDate(text)
  const date = part?.date ?? readDate(text, context)
  if (isFutureDate(date, context.now)) throw new ValueError(futureProblem)
  return part ? { approximateBirth: part } : profile({ birthDate: date })
}
export const arrivedOn: ValueReader = (text, context) => profile({ arrivedOn: readDate(text, context) })
export const adoptedOn: ValueReader = (text, context) => ({ adoptedOn: readDate(text, context) })

export const minChildAge: ValueReader = (text) => {
  const years = /^(\d{1,2})\s*(?:\+|years?|yrs?)?$/i.exec(text)?.[1]
  if (years === undefined || Number(years) > 18)
    throw new ValueError('must be a number of years from 0 to 18')
  return profile({ minChildAge: Number(years) })
}

/** The id or the name of a category. */
export const category: ValueReader = (text) => {
  const id = parseInt64(text)
  if (id === undefined && /^[+-]?\d+$/.test(text))
    throw new ValueError('must be the name of a category, or an id of at most 64 bits')
  return { category: id === undefined ? text : String(id) }
}
