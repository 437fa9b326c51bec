import {
  ageGroups,
  coats,
  companions,
  compatibilities,
  sexes,
  sizes,
} from '../../../../../src/profiles/profile.ts'
import { capitalize } from '../../../app/format.ts'
import type { Option } from '../../../components/Field.tsx'
import type { FieldName } from './profileDraft.ts'

/** The fields of a profile, in the sections of the page. */

type Kind =
  | 'text'
  | 'long'
  | 'list'
  | 'date'
  | 'number'
  | 'flag'
  | 'choice'
  | 'listed'
  | 'goodWith'
  | 'fee'
  | 'bonded'
  | 'attributes'

export type FieldSpec = {
  readonly name: FieldName
  readonly label: string
  readonly kind: Kind
  readonly hint?: string
  /** Of a choice. The empty value is unknown. */
  readonly options?: readonly Option[]
  readonly placeholder?: string
  readonly rows?: number
  readonly inputType?: 'text' | 'url'
  /** It is named as its section. */
  readonly isTitled?: boolean
  /** It needs a line of its own. */
  readonly isWide?: boolean
}

export type SectionSpec = {
  readonly title: string
  readonly text?: string
  readonly fields: readonly FieldSpec[]
}

const sizeNames: Readonly<Record<string, string>> = { xlarge: 'Extra large' }
export const optionName = (value: string): string => sizeNames[value] ?? capitalize(value)

const unknown: Option = { value: '', label: 'Unknown' }
const optionsOf = (values: readonly string[]): Option[] => [
  unknown,
  ...values.map((value) => ({ value, label: optionName(value) })),
]
export const flagOptions: readonly Option[] = [
  unknown,
  { value: 'yes', label: 'Yes' },
  { value: 'no', label: 'No' },
]
export const compatibilityOptions = optionsOf(compatibilities)
export const companionNames = companions.map((name) => ({ name, label: capitalize(name) }))

const flag = (name: FieldName, label: string): FieldSpec => ({ name, label, kind: 'flag' })
const choice = (name: FieldName, label: string, values: readonly string[]): FieldSpec => ({
  name,
  label,
  kind: 'choice',
  options: optionsOf(values),
})

export const sections: readonly SectionSpec[] = [
  {
    title: 'Description',
    text: 'What people read first. Plain text.',
    fields: [
      {
        name: 'description',
        label: 'Description',
        kind: 'long',
        rows: 7,
        placeholder: 'What is this animal like? What does it love, and what does it need?',
        isTitled: true,
        isWide: true,
      },
    ],
  },
  {
    title: 'Basics',
    fields: [
      { name: 'species', label: 'Species', kind: 'text', placeholder: 'dog' },
      choice('sex', 'Sex', sexes),
      { name: 'breeds', label: 'Breeds', kind: 'list', hint: 'Up to 2, with a comma between them.' },
      flag('mixed', 'Mixed breed'),
      { name: 'birthDate', label: 'Birth date', kind: 'date' },
      flag('birthDateEstimated', 'Birth date is an estimate'),
      choice('ageGroup', 'Age group', ageGroups),
      choice('size', 'Size when grown up', sizes),
      choice('coat', 'Coat', coats),
      { name: 'colors', label: 'Colors', kind: 'list', hint: 'Up to 3, with a comma between them.' },
    ],
  },
  {
    title: 'Health',
    fields: [
      flag('altered', 'Spayed or neutered'),
      flag('vaccinated', 'Vaccinations are current'),
      flag('houseTrained', 'House-trained'),
      flag('declawed', 'Declawed'),
      flag('specialNeeds', 'Special needs'),
      { name: 'specialNeedsNotes', label: 'About the special needs', kind: 'long', rows: 3, isWide: true },
    ],
  },
  {
    title: 'Gets along with',
    fields: [
      { name: 'goodWith', label: 'Gets along with', kind: 'goodWith', isWide: true },
      {
        name: 'minChildAge',
        label: 'Children from this age',
        kind: 'number',
        hint: 'In years, 0 to 18.',
      },
    ],
  },
  {
    title: 'Adoption',
    fields: [
      {
        name: 'listed',
        label: 'Show in listings',
        kind: 'listed',
        hint: 'Turn this off to hide the profile and the photos. The name, category and status stay visible in the API.',
        isWide: true,
      },
      { name: 'fee', label: 'Fee', kind: 'fee' },
      { name: 'arrivedOn', label: 'Arrived on', kind: 'date' },
      { name: 'contactUrl', label: 'Contact page', kind: 'text', inputType: 'url', placeholder: 'https://' },
      { name: 'videoUrl', label: 'Video', kind: 'text', inputType: 'url', placeholder: 'https://' },
      flag('courtesy', 'Listed for someone else'),
      {
        name: 'bondedWith',
        label: 'Adopted together with',
        kind: 'bonded',
        hint: 'Up to 4 animals. They show this one as well.',
        isWide: true,
      },
    ],
  },
  {
    title: 'Identity',
    fields: [
      { name: 'externalId', label: 'Intake number', kind: 'text' },
      {
        name: 'source',
        label: 'Source',
        kind: 'text',
        hint: 'The system of the intake number. Empty for your own.',
      },
      { name: 'microchip', label: 'Microchip', kind: 'text', hint: 'Only staff see it.' },
    ],
  },
  {
    title: 'For staff',
    text: 'Only staff see this.',
    fields: [
      { name: 'location', label: 'Location', kind: 'text', placeholder: 'Kennel 4' },
      { name: 'staffNotes', label: 'Notes', kind: 'long', rows: 4, isWide: true },
    ],
  },
  {
    title: 'Other details',
    text: 'What the other fields do not cover.',
    fields: [{ name: 'attributes', label: 'Details', kind: 'attributes', isWide: true }],
  },
]
