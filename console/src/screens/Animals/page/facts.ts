import type { Profile } from '../../../../../client/src/index.ts'
import { describeAge } from '../../../../../src/profiles/age.ts'
import { companions } from '../../../../../src/profiles/profile.ts'
import { now } from '../../../app/clock.ts'
import { capitalize, pluralize } from '../../../app/format.ts'
import { formatFee } from './FeeControl.tsx'
import { optionName } from './fields.ts'

/** What people who are looking for an animal see of its profile. What is unknown is left out. */

type Fact = readonly [name: string, value: string | undefined]

function ageOf({ birthDate, birthDateEstimated, ageGroup }: Profile): string | undefined {
  if (birthDate === null) return ageGroup === null ? undefined : optionName(ageGroup)
  return describeAge(birthDate, birthDateEstimated, now())
}

const orMissing = (texts: readonly (string | false)[]): string | undefined =>
  capitalize(texts.filter((text) => text !== false).join(', ')) || undefined

/** "Dogs, cats" */
const goodWithOf = ({ goodWith }: Profile, answer: string): string | undefined =>
  orMissing(companions.filter((name) => goodWith[name] === answer))

const nameOrMissing = (value: string | null): string | undefined =>
  value === null ? undefined : optionName(value)

export const factsOf = (profile: Profile): readonly Fact[] => [
  ['Species', nameOrMissing(profile.species)],
  ['Breed', orMissing([...profile.breeds, profile.mixed === true && 'mixed'])],
  ['Sex', nameOrMissing(profile.sex)],
  ['Age', ageOf(profile)],
  ['Size', nameOrMissing(profile.size)],
  ['Coat', nameOrMissing(profile.coat)],
  ['Colors', orMissing(profile.colors)],
  [
    'Health',
    orMissing([
      profile.altered === true && 'spayed or neutered',
      profile.vaccinated === true && 'vaccinated',
      profile.specialNeeds === true && 'special needs',
    ]),
  ],
  ['House-trained', profile.houseTrained === null ? undefined : profile.houseTrained ? 'Yes' : 'No'],
  ['Good with', goodWithOf(profile, 'yes')],
  ['Selective with', goodWithOf(profile, 'selective')],
  ['Not with', goodWithOf(profile, 'no')],
  ['Children', profile.minChildAge === null ? undefined : `From ${pluralize(profile.minChildAge, 'year')}`],
  ['Fee', profile.fee ? formatFee(profile.fee) : undefined],
  ...Object.entries(profile.attributes),
]
