import type { Preset } from '../preset.ts'

/** Shelterluv: a report of animals, exported as CSV. */
export const shelterluv: Preset = {
  name: 'shelterluv',
  title: 'Shelterluv',
  recognizedBy: [
    ['Animal ID', 'Kennel Card / Web Site Memo'],
    ['Animal ID', 'Age (Y/M/D)'],
    ['Animal ID', 'In Custody'],
  ],
  columns: {
    'Animal ID': 'externalId',
    Name: 'name',
    Species: 'species',
    Sex: 'sex',
    'Primary Breed': 'breeds',
    'Secondary Breed': 'breeds',
    'Primary Color': 'colors',
    'Secondary Color': 'colors',
    'Age (Y/M/D)': 'age',
    'Current Weight': { field: 'attributes.Weight', blanks: ['0', '0 lb', '0 lbs', '0 kg'] },
    'Kennel Card / Web Site Memo': { field: 'description', isHtml: true },
    Altered: 'altered',
    'Created Date': 'arrivedOn',
    'In Custody': 'listed',
    Photo: 'photos',
    Status: {
      field: 'status',
      // Stores define their own ones for animals in their custody.
      isLenient: true,
      values: {
        'healthy in home': { status: 'sold' },
        'transferred out': { listed: 'no' },
        deceased: { listed: 'no' },
        'stolen / lost': { listed: 'no' },
        released: { listed: 'no' },
      },
    },
    // Attributes can be notes for staff: only those that a profile shows in a field of its own are read.
    Attributes: {
      isList: true,
      values: {
        'good with kids': { 'goodWith.children': 'yes' },
        'good with children': { 'goodWith.children': 'yes' },
        'no kids': { 'goodWith.children': 'no' },
        'no children': { 'goodWith.children': 'no' },
        'not good with kids': { 'goodWith.children': 'no' },
        'not good with children': { 'goodWith.children': 'no' },
        'adult only home preferred': { 'goodWith.children': 'no' },
        'good with dogs': { 'goodWith.dogs': 'yes' },
        'no dogs': { 'goodWith.dogs': 'no' },
        'not good with dogs': { 'goodWith.dogs': 'no' },
        'good with cats': { 'goodWith.cats': 'yes' },
        'no cats': { 'goodWith.cats': 'no' },
        'not good with cats': { 'goodWith.cats': 'no' },
        'house trained': { houseTrained: 'yes' },
        housetrained: { houseTrained: 'yes' },
        housebroken: { houseTrained: 'yes' },
        declawed: { declawed: 'yes' },
        'special needs': { specialNeeds: 'yes' },
      },
    },
  },
  excluded: [
    // In foster care, it is the name of a person.
    '*Location*',
    '*Foster*',
    '*Person*',
    '*Owner*',
    '*Adopter*',
    '*Address*',
    '*Phone*',
    '*Email*',
    'Intake From*',
  ],
}
