/** The rules for profiles, without HTTP or SQL. */

export const sexes = ['male', 'female'] as const
export const ageGroups = ['baby', 'young', 'adult', 'senior'] as const
export const sizes = ['small', 'medium', 'large', 'xlarge'] as const
export const coats = ['hairless', 'short', 'medium', 'long', 'wire', 'curly'] as const
export const companions = ['children', 'dogs', 'cats'] as const
export const compatibilities = ['yes', 'no', 'selective'] as const

export type AgeGroup = (typeof ageGroups)[number]
export type Companion = (typeof companions)[number]
type Compatibility = (typeof compatibilities)[number]

/** What is stored of a profile. Null is unknown. Dates are such as 2026-01-31. */
export type Profile = {
  source: string
  externalId: string | null
  species: string | null
  breeds: readonly string[]
  mixed: boolean | null
  sex: (typeof sexes)[number] | null
  birthDate: string | null
  birthDateEstimated: boolean | null
  /** As given. With a birth date, the age decides instead. */
  ageGroup: AgeGroup | null
  size: (typeof sizes)[number] | null
  coat: (typeof coats)[number] | null
  colors: readonly string[]
  altered: boolean | null
  houseTrained: boolean | null
  declawed: boolean | null
  vaccinated: boolean | null
  specialNeeds: boolean | null
  courtesy: boolean | null
  goodWith: Readonly<Record<Companion, Compatibility | null>>
  minChildAge: number | null
  fee: { readonly amount: number; readonly currency: string } | null
  description: string | null
  specialNeedsNotes: string | null
  contactUrl: string | null
  videoUrl: string | null
  arrivedOn: string | null
  listed: boolean
  attributes: Readonly<Record<string, string>>
  microchip: string | null
  location: string | null
  staffNotes: string | null
}

/** The profile of an animal before its first change. */
export const emptyProfile: Profile = {
  source: '',
  externalId: null,
  species: null,
  breeds: [],
  mixed: null,
  sex: null,
  birthDate: null,
  birthDateEstimated: null,
  ageGroup: null,
  size: null,
  coat: null,
  colors: [],
  altered: null,
  houseTrained: null,
  declawed: null,
  vaccinated: null,
  specialNeeds: null,
  courtesy: null,
  goodWith: { children: null, dogs: null, cats: null },
  minChildAge: null,
  fee: null,
  description: null,
  specialNeedsNotes: null,
  contactUrl: null,
  videoUrl: null,
  arrivedOn: null,
  listed: true,
  attributes: {},
  microchip: null,
  location: null,
  staffNotes: null,
}

/** The fields to change. Null clears a field. */
export type ProfileUpdate = { [Field in keyof Profile]?: Profile[Field] | null | undefined }

/** A given field replaces the whole field. */
export function updatedProfile(profile: Profile, change: ProfileUpdate): Profile {
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  const cleared = given.map(([name, value]) => [name, value ?? emptyProfile[name as keyof Profile]])
  const next: Profile = { ...profile, ...Object.fromEntries(cleared) }
  return { ...next, species: next.species?.toLowerCase() ?? null }
}

/** How many other animals an animal can be bonded with. */
export const bondedMax = 4

const summaryLengthMax = 300

/** The beginning of a description, up to the last word that fits. */
export function summaryOf(description: string | null, lengthMax: number = summaryLengthMax): string | null {
  if (description === null) return null
  const limit = lengthOfFirst(lengthMax, description)
  if (limit === description.length) return description
  const beginning = description.slice(0, lengthOfFirst(lengthMax + 1, description))
  const lastSpace = beginning.search(/\s+\S*$/)
  return `${beginning.slice(0, lastSpace <= 0 ? limit : lastSpace)}…`
}

/** The length of the first characters of a text, some of which take two units. */
function lengthOfFirst(characters: number, text: string): number {
  let length = 0
  for (let count = 0; count < characters && length < text.length; count++)
    length += (text.codePointAt(length) as number) > 0xffff ? 2 : 1
  return length
}

/** The first age of each group in years, and the first that is beyond it. */
const ageRanges: Readonly<Record<AgeGroup, readonly [from: number, below: number]>> = {
  baby: [0, 1],
  young: [1, 3],
  adult: [3, 8],
  senior: [8, Number.POSITIVE_INFINITY],
}

/** The date, in UTC, a number of years before a moment. 29 February becomes 28 February where there is none. */
function dateYearsBefore(now: number, years: number): string {
  const date = new Date(now)
  const month = date.getUTCMonth()
  date.setUTCFullYear(date.getUTCFullYear() - years)
  if (date.getUTCMonth() !== month) date.setUTCDate(0)
  return date.toISOString().slice(0, 10)
}

/** The birth dates of an age group: after the first, up to the second. Undefined where there is no bound. */
export function birthDatesOf(group: AgeGroup, now: number): { after?: string; through?: string } {
  const [from, below] = ageRanges[group]
  return {
    ...(Number.isFinite(below) && { after: dateYearsBefore(now, below) }),
    ...(from > 0 && { through: dateYearsBefore(now, from) }),
  }
}

const aheadOfUtcMaxMs = 14 * 3_600_000
export const futureProblem = 'must not be in the future'

/** Whether a date is later than today in every time zone. */
export const isFutureDate = (date: string, now: number): boolean =>
  date > new Date(now + aheadOfUtcMaxMs).toISOString().slice(0, 10)

export function ageGroupAt({ birthDate, ageGroup }: Pick<Profile, 'birthDate' | 'ageGroup'>, now: number) {
  if (birthDate === null) return ageGroup
  const today = new Date(now).toISOString()
  const hasHadBirthday = birthDate.slice(5) <= today.slice(5, 10)
  const age = Number(today.slice(0, 4)) - Number(birthDate.slice(0, 4)) - (hasHadBirthday ? 0 : 1)
  return ageGroups.findLast((group) => age >= ageRanges[group][0]) ?? 'baby'
}
