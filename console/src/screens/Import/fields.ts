import { importFields } from '../../../../src/imports/fields.ts'
import { capitalize } from '../../app/format.ts'
import type { Option } from '../../components/Field.tsx'

/** Where the name of a field says too little. */
const labels: Readonly<Record<string, string>> = {
  id: 'Id of the animal here',
  externalId: 'Intake number, or id in another system',
  category: 'Category',
  categoryId: 'Id of the category here',
  altered: 'Spayed or neutered',
  breeds: 'Breed',
  colors: 'Color',
  contactUrl: 'Link for inquiries',
  videoUrl: 'Address of a video',
  listed: 'Shown in listings',
  courtesy: 'Listed for others',
  attributes: 'Other information (public)',
  photos: 'Photos (not imported here)',
}

/** "goodWith.dogs" is "Good with dogs". */
export const fieldLabel = (field: string): string =>
  labels[field] ??
  capitalize(
    field
      .replace(/^attributes\./, '')
      .replace('.', ' ')
      .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
  )

/** What a person can choose for a column. Photos cannot be imported here. */
export const fieldOptions: readonly Option[] = importFields
  .filter((field) => field !== 'photos')
  .map((field) => ({ value: field, label: fieldLabel(field) }))
  .sort((a, b) => a.label.localeCompare(b.label, 'en'))
