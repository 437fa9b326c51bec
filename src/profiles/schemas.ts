import * as z from 'zod'
import { defineErrors } from '../api/errors.ts'
import { boundedText, int64, integer, nonBlankText, timestampSchema } from '../api/validation.ts'
import { ageGroups, bondedMax, coats, companions, compatibilities, sexes, sizes } from './profile.ts'

export const profileErrors = defineErrors({
  external_id_in_use: [409, 'Another animal has this external id of this source. GET /listings?q= finds it.'],
})

const urlLengthMax = 2_048
const feeMax = 1_000_000_000
export const attributesMax = 32
export const attributeNameLengthMax = 40
export const breedsMax = 2
export const colorsMax = 3

const currencies = new Set(Intl.supportedValuesOf('currency'))

const dateSchema = (description: string) =>
  z.iso.date('must be a date such as 2026-01-31').meta({ description })
export const httpsUrl = (description: string) =>
  z
    .string()
    .refine((text) => text.length <= urlLengthMax, `must have at most ${urlLengthMax} characters`)
    .refine((text) => /^https:\/\/\S+$/.test(text) && URL.canParse(text), 'must be an https address')
    .meta({ format: 'uri', pattern: '^https://\\S+$', maxLength: urlLengthMax, description })
const flag = (description: string) => z.boolean().meta({ description })
const texts = (max: number, lengthMax: number, description: string) =>
  z.array(nonBlankText(lengthMax)).max(max).meta({ description })

const compatibility = (companion: string) =>
  z
    .enum(compatibilities)
    .nullable()
    .optional()
    .transform((value) => value ?? null)
    .meta({ description: `With ${companion}. Null if it is unknown.` })

const goodWith = z
  .object({
    children: compatibility(companions[0]),
    dogs: compatibility(companions[1]),
    cats: compatibility(companions[2]),
  })
  .meta({ id: 'GoodWith', description: 'With whom the animal gets along.' })

const fee = z
  .object({
    amount: integer(0, feeMax).meta({ description: 'In the smallest unit of the currency, such as cents.' }),
    currency: z
      .string()
      .refine((code) => currencies.has(code), 'must be a currency code of ISO 4217 such as EUR')
      .meta({ pattern: '^[A-Z]{3}$', description: 'The code of ISO 4217.' }),
  })
  .meta({
    id: 'Fee',
    description: 'What the adoption costs.',
    examples: [{ amount: 15_000, currency: 'EUR' }],
  })

const attributePairs = z
  .record(nonBlankText(attributeNameLengthMax), boundedText(200))
  .refine((pairs) => Object.keys(pairs).length <= attributesMax, `must have at most ${attributesMax} entries`)
const attributes = z
  .preprocess((pairs, context) => {
    // Zod would leave it out.
    if (Object.hasOwn(Object(pairs), '__proto__')) context.addIssue('must not contain "__proto__"')
    return pairs
  }, attributePairs)
  .meta({
    id: 'Attributes',
    maxProperties: attributesMax,
    description: 'What the other fields do not cover. `__proto__` is not allowed as a name.',
  })

/** In events. */
export const profileStateSchema = z
  .object({
    id: int64().meta({ description: 'The id of the animal.' }),
    petId: int64().meta({ description: 'The id of the animal.' }),
    updatedAt: timestampSchema('When the change was made.'),
  })
  .meta({ id: 'ProfileState', description: 'A profile that was changed. It has none of its fields.' })

/** What everyone who may read the animal sees. */
const publicFields = {
  source: boundedText(40, 'The system that `externalId` belongs to. Empty for the own store.'),
  externalId: nonBlankText(255, 'The intake number, or the id in another system. Unique within its source.'),
  species: nonBlankText(40, 'Such as `dog`. Stored in lower case.'),
  breeds: texts(breedsMax, 80, 'The breeds, the main one first.'),
  mixed: flag('Of mixed breed.'),
  sex: z.enum(sexes).meta({ description: 'The sex.' }),
  birthDate: dateSchema('The date of birth, not in the future.'),
  birthDateEstimated: flag('The birth date is an estimate.'),
  ageGroup: z.enum(ageGroups).meta({
    description:
      '`baby` is under 1 year, `young` under 3, `adult` under 8. With a `birthDate`, it is computed from that.',
  }),
  size: z.enum(sizes).meta({ description: 'The size when grown up.' }),
  coat: z.enum(coats).meta({ description: 'The coat.' }),
  colors: texts(colorsMax, 40, 'The colors, the main one first.'),
  altered: flag('Spayed or neutered.'),
  houseTrained: flag('House-trained.'),
  declawed: flag('Declawed.'),
  vaccinated: flag('Vaccinations are current.'),
  specialNeeds: flag('Has special needs.'),
  courtesy: flag('Listed for another organization or person.'),
  goodWith,
  minChildAge: integer(0, 18).meta({ description: 'The least age of children, in years.' }),
  fee,
  description: boundedText(20_000, 'Plain text.'),
  specialNeedsNotes: boundedText(2_000, 'Plain text.'),
  contactUrl: httpsUrl('Where to ask about it.'),
  videoUrl: httpsUrl('A video of the animal.'),
  arrivedOn: dateSchema('When the animal arrived.'),
  attributes,
}

const staffFields = {
  microchip: nonBlankText(40, 'The number of the microchip. Only with `view=staff`.'),
  location: nonBlankText(80, 'Where the animal is. Only with `view=staff`.'),
  staffNotes: boundedText(5_000, 'Notes for staff. Only with `view=staff`.'),
}

const bondedWith = z
  .array(int64())
  .max(bondedMax)
  .meta({ description: 'The ids of animals that are adopted together with this one.' })
const listed = flag('Whether the animal appears in listings. By default `true`.')

type Shape = Record<string, z.ZodType>
type Changeable<S extends Shape> = { [Name in keyof S]: z.ZodOptional<z.ZodNullable<S[Name]>> }
type Nullable<S extends Shape> = { [Name in keyof S]: z.ZodNullable<S[Name]> }
const mapShape = (shape: Shape, to: (field: z.ZodType) => z.ZodType) =>
  Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, to(field)]))
export const changeable = <S extends Shape>(shape: S) =>
  mapShape(shape, (field) => field.nullable().optional()) as Changeable<S>
/** In a response the description of a text is enough. */
const unbounded = (field: z.ZodType) =>
  field instanceof z.ZodString && !(field instanceof z.ZodISODate)
    ? z.string().meta({ description: field.description ?? '' })
    : field
export const nullable = <S extends Shape>(shape: S) =>
  mapShape(shape, (field) => unbounded(field).nullable()) as Nullable<S>

const optionalFields = <S extends Shape>(shape: S) =>
  mapShape(shape, (field) => unbounded(field).nullable().optional()) as Changeable<S>

const example = {
  species: 'dog',
  breeds: ['Labrador Retriever'],
  sex: 'female',
  birthDate: '2024-05-01',
  description: 'Luna is friendly and learns fast.',
}

export const profileUpdateSchema = z
  .object(changeable({ ...publicFields, listed, bondedWith, ...staffFields }))
  .meta({
    id: 'ProfileChange',
    description: 'The fields to change. A given field replaces the whole field, and `null` clears it.',
    examples: [example],
  })

const { source, breeds, colors, goodWith: _, attributes: __, description, ...others } = publicFields

export const profileSchema = z
  .object({
    petId: int64().meta({ description: 'The id of the animal.' }),
    source,
    ...nullable(others),
    ...optionalFields({ description }),
    breeds,
    colors,
    goodWith,
    attributes,
    listed,
    bondedWith,
    adoptedOn: dateSchema('When the animal was adopted.').nullable(),
    createdAt: timestampSchema('When the animal was added. Null if that is not known.').nullable(),
    updatedAt: timestampSchema(
      'When the animal, its profile or a photo last changed. Null if that is not known.',
    ).nullable(),
    summary: z.string().nullable().optional().meta({
      description: 'In lists, in place of `description`: its first 300 characters, cut at a word.',
    }),
    // Only with `view=staff`.
    ...optionalFields(staffFields),
  })
  .meta({ id: 'Profile', description: 'What is known about an animal. Null is unknown.' })
