import type * as z from 'zod'
import { parseInt64 } from '../../api/json.ts'
import { externalIdSchema, storedPetName } from '../../pets/record.ts'
import { attributeNameLengthMax, profileUpdateSchema } from '../../profiles/schemas.ts'
import { recordId } from '../../records/resource.ts'
import type { ImportedAnimal } from '../animal.ts'
import type { ImportField } from '../fields.ts'
import { parseFee } from './fee.ts'
import { usualKind } from './simplify.ts'
import {
  adoptedOn,
  age,
  arrivedOn,
  birthDate,
  category,
  coat,
  flag,
  goodWith,
  isUnknown,
  minChildAge,
  type ReadContext,
  sex,
  size,
  status,
  ValueError,
  type ValueReader,
} from './values.ts'

/** The value by the rules of the API. */
function validated<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const { success, data, error } = schema.safeParse(value)
  if (!success) throw new ValueError(error.issues[0]?.message ?? 'is not valid')
  return data
}

type TextField =
  | 'description'
  | 'specialNeedsNotes'
  | 'staffNotes'
  | 'location'
  | 'microchip'
  | 'contactUrl'
  | 'videoUrl'

const text = (field: TextField) => (value: string) => ({
  profile: { [field]: validated(profileUpdateSchema.shape[field], value) },
})

const list =
  (field: 'breeds' | 'colors'): ValueReader =>
  (value) => ({ profile: { [field]: validated(profileUpdateSchema.shape[field], [value]) ?? [] } })

const attribute =
  (name: string): ValueReader =>
  (value) => ({
    profile: {
      attributes:
        validated(profileUpdateSchema.shape.attributes, { [name.slice(0, attributeNameLengthMax)]: value }) ??
        {},
    },
  })

/** A spreadsheet has shortened a long number: "9.85112E+14". */
const shortenedNumber = /^\d[.,]\d+E\+\d+$/i

function withAllDigits(value: string): string {
  if (shortenedNumber.test(value))
    throw new ValueError('must have all its digits: format the column as text in the spreadsheet')
  return value
}

function readFee(value: string, context: ReadContext): ImportedAnimal {
  const { amount, currency } = parseFee(value, context.currency)
  const fee = validated(profileUpdateSchema.shape.fee, { amount: BigInt(amount), currency })
  return { profile: { fee } }
}

const readers: Readonly<Record<Exclude<ImportField, `attributes${string}`>, ValueReader>> = {
  id: (value) => ({ id: validated(recordId, parseInt64(value) ?? value) }),
  externalId: (value) => ({ externalId: validated(externalIdSchema, withAllDigits(value)) }),
  name: (value) => ({ name: validated(storedPetName, value) }),
  categoryId: category,
  category,
  status,
  adoptedOn,
  species: (value) => ({
    kind: value,
    profile: { species: validated(profileUpdateSchema.shape.species, usualKind(value) ?? value) },
  }),
  breeds: list('breeds'),
  colors: list('colors'),
  mixed: flag('mixed'),
  sex,
  birthDate,
  birthDateEstimated: flag('birthDateEstimated'),
  age,
  ageGroup: age,
  size,
  coat,
  altered: flag('altered'),
  houseTrained: flag('houseTrained'),
  declawed: flag('declawed'),
  vaccinated: flag('vaccinated'),
  specialNeeds: flag('specialNeeds'),
  courtesy: flag('courtesy'),
  listed: flag('listed'),
  'goodWith.children': goodWith('children'),
  'goodWith.dogs': goodWith('dogs'),
  'goodWith.cats': goodWith('cats'),
  minChildAge,
  fee: readFee,
  arrivedOn,
  description: text('description'),
  specialNeedsNotes: text('specialNeedsNotes'),
  staffNotes: text('staffNotes'),
  location: text('location'),
  contactUrl: text('contactUrl'),
  videoUrl: text('videoUrl'),
  microchip: (value) => text('microchip')(withAllDigits(value)),
  photos: (value) => ({ photos: photosIn(value) }),
}

/** In these, a word such as "unknown" is a text like any other. */
const literalFields: readonly ImportField[] = [
  'id',
  'externalId',
  'name',
  'categoryId',
  'category',
  'description',
  'specialNeedsNotes',
  'staffNotes',
  'photos',
]

/** Reads the cells of a field. Undefined if a cell says that nothing is known. */
export function readerOf(field: ImportField, heading: string): ValueReader {
  if (field.startsWith('attributes')) return attribute(field.slice('attributes.'.length) || heading)
  const read = readers[field as keyof typeof readers]
  if (literalFields.includes(field)) return read
  return (value, context) => (isUnknown(value) ? undefined : read(value, context))
}

/** Several addresses or names of files in one cell. */
const photosIn = (value: string): string[] =>
  value.startsWith('data:')
    ? [value]
    : value
        .split(value.includes('://') ? /[\s,;|]+/ : /[\n,;|]/)
        .map((each) => each.trim())
        .filter((each) => each !== '')
