import type { Preset } from '../preset.ts'

/** PetPoint: a report of animals, exported as CSV. */
export const petpoint: Preset = {
  name: 'petpoint',
  title: 'PetPoint',
  recognizedBy: [
    ['Animal #', 'ARN'],
    ['Animal #', 'Intake Type', 'Primary Breed'],
    ['Animal #', 'Outcome Type', 'Primary Breed'],
  ],
  columns: {
    'Animal #': 'externalId',
    ARN: 'attributes.ARN',
    'Animal Name': 'name',
    Species: 'species',
    'Primary Breed': 'breeds',
    'Secondary Breed': 'breeds',
    Gender: 'sex',
    Altered: 'altered',
    'Date Of Birth': 'birthDate',
    // Stores define their own ones.
    'Age Group': { field: 'ageGroup', isLenient: true },
    Location: 'location',
    'Intake Date': 'arrivedOn',
    'Outcome Type': {
      values: { adoption: { status: 'sold' } },
      // Transferred, returned to its owner, died and others.
      otherwise: { listed: 'no' },
      // It is in the shelter, also after it was returned.
      blank: { status: 'available', listed: 'yes' },
    },
    'Outcome Date': 'adoptedOn',
  },
  excluded: ['*Person*', '*Owner*', '*Adopter*', '*Foster*', '*Address*', '*Phone*', '*Email*', '*Contact*'],
}
