import type { OrderStatus } from '../../orders/order.ts'
import { emptyProfile, type Profile } from '../../profiles/profile.ts'
import type { AnimalLook, Shot } from './drawPhoto.ts'
import type { Look } from './mammals.ts'
import type { OtherLook } from './otherAnimals.ts'

/** What is known of a sample animal, and how it is drawn. */

/** The colors of coats, feathers and shells by their names in profiles. */
const coatColors = {
  ...{ Black: '#3f3b45', White: '#fbf6ee', Cream: '#f3dfbd', Golden: '#e0a458', Tan: '#c98246' },
  ...{ Brown: '#a5673f', Chocolate: '#6b5348', Gray: '#9a9ca8', Silver: '#bcbfca', Orange: '#e8954a' },
  ...{ Fawn: '#d3a672', Green: '#7cc15a', Yellow: '#f5d565', Olive: '#a9b56c' },
} as const

type Kind = (Look | OtherLook)['kind']

const kinds: Readonly<Record<Kind, { readonly category: string; readonly species: string }>> = {
  dog: { category: 'Dogs', species: 'dog' },
  cat: { category: 'Cats', species: 'cat' },
  rabbit: { category: 'Rabbits', species: 'rabbit' },
  guineaPig: { category: 'Guinea pigs', species: 'guinea pig' },
  bird: { category: 'Birds', species: 'bird' },
  horse: { category: 'Horses', species: 'horse' },
  tortoise: { category: 'Reptiles', species: 'tortoise' },
  gecko: { category: 'Reptiles', species: 'gecko' },
}

export type SampleAnimal = {
  readonly kind: Kind
  readonly name: string
  readonly sex: NonNullable<Profile['sex']>
  readonly months: number
  /** Whole euros. */
  readonly fee: number
  readonly breeds: readonly string[]
  readonly colors: readonly (keyof typeof coatColors)[]
  /** The tint is that of its things and rooms. */
  readonly look: Omit<Look, 'kind' | 'colors'> &
    Omit<OtherLook, 'kind' | 'colors'> & { readonly tint: string }
  readonly facts: Partial<Profile> & { readonly size: NonNullable<Profile['size']> }
  readonly photos: readonly Shot[]
  readonly description: string
  readonly specialNeedsNotes?: string
  readonly staff?: Pick<Profile, 'listed' | 'location' | 'staffNotes'>
  readonly bondedWith?: string
  readonly order?: { readonly status: OrderStatus; readonly customer: string; readonly note: string }
}

export const animal = (
  kind: Kind,
  name: string,
  sex: SampleAnimal['sex'],
  months: number,
  fee: number,
  breeds: readonly string[],
  colors: SampleAnimal['colors'],
) => ({ kind, name, sex, months, fee, breeds, colors })

type Compatibility = Profile['goodWith']['dogs']
export const goodWith = (children: Compatibility, dogs: Compatibility, cats: Compatibility) => ({
  ...{ children, dogs, cats },
})

export const categoryOf = ({ kind }: SampleAnimal): string => kinds[kind].category

/** The external ids of sample animals belong to this source. */
export const sampleSource = 'sample'
export const externalIdOf = ({ name }: SampleAnimal): string => name.toLowerCase()

const monthMs = (365.25 / 12) * 86_400_000
const dateBefore = (now: number, months: number): string =>
  new Date(now - months * monthMs).toISOString().slice(0, 10)

/** At any time, the animals have the ages that their descriptions mention. */
export function profileOf(sample: SampleAnimal, now: number): Profile {
  const { kind, sex, months, breeds, colors, description, specialNeedsNotes = null } = sample
  const isPet = kind === 'dog' || kind === 'cat'
  return {
    ...emptyProfile,
    ...{ source: sampleSource, externalId: externalIdOf(sample), species: kinds[kind].species },
    ...{ sex, breeds, colors, description, specialNeedsNotes, mixed: breeds.length > 1 },
    ...{ birthDate: dateBefore(now, months), birthDateEstimated: months > 24 },
    arrivedOn: dateBefore(now, Math.min(months, 1 + (sample.name.length % 5)) / 2),
    specialNeeds: specialNeedsNotes !== null,
    fee: { amount: sample.fee * 100, currency: 'EUR' },
    ...(isPet && { altered: months > 6, houseTrained: months > 4, vaccinated: true }),
    ...sample.facts,
    ...sample.staff,
  }
}

const scales = { small: 0.94, medium: 0.98, large: 1.04, xlarge: 1.06 }

export const lookOf = ({ kind, colors, look, months, facts }: SampleAnimal): AnimalLook => ({
  ...look,
  kind,
  colors: colors.map((name) => coatColors[name]),
  isBaby: months < 12,
  scale: scales[facts.size],
})
