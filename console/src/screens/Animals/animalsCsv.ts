import type { Listing } from '../../../../client/src/index.ts'
import { findCategory, loadCategories } from '../../app/categories.ts'
import { type CsvColumn, exportCsv, exportPageSize } from '../../app/csvExport.ts'
import { store } from '../../app/store.ts'
import { type Filters, queryOf } from './filters.ts'
import { formatAmount } from './page/FeeControl.tsx'

/**
 * An import recognizes these headings, and finds the animals by their id. Only the beginning of a description is known here,
 * so its heading is one that an import ignores.
 */
const columns: readonly CsvColumn<Listing>[] = [
  ['id', ({ pet }) => pet.id],
  // An import would take the number of another system as one of the own store.
  ['externalId', ({ profile }) => (profile.source === '' ? profile.externalId : '')],
  ['name', ({ pet }) => pet.name],
  ['categoryId', ({ pet }) => pet.categoryId],
  ['category', ({ pet }) => findCategory(pet.categoryId)?.name],
  ['status', ({ pet }) => pet.status],
  ['species', ({ profile }) => profile.species],
  ['breed 1', ({ profile }) => profile.breeds[0]],
  ['breed 2', ({ profile }) => profile.breeds[1]],
  ['mixed', ({ profile }) => profile.mixed],
  ['sex', ({ profile }) => profile.sex],
  ['birth date', ({ profile }) => profile.birthDate],
  ['birth date estimated', ({ profile }) => profile.birthDateEstimated],
  ['age group', ({ profile }) => (profile.birthDate === null ? profile.ageGroup : '')],
  ['size', ({ profile }) => profile.size],
  ['coat', ({ profile }) => profile.coat],
  ['color 1', ({ profile }) => profile.colors[0]],
  ['color 2', ({ profile }) => profile.colors[1]],
  ['color 3', ({ profile }) => profile.colors[2]],
  ['altered', ({ profile }) => profile.altered],
  ['house trained', ({ profile }) => profile.houseTrained],
  ['declawed', ({ profile }) => profile.declawed],
  ['vaccinated', ({ profile }) => profile.vaccinated],
  ['special needs', ({ profile }) => profile.specialNeeds],
  ['special needs notes', ({ profile }) => profile.specialNeedsNotes],
  ['courtesy', ({ profile }) => profile.courtesy],
  ['good with children', ({ profile }) => profile.goodWith.children],
  ['good with dogs', ({ profile }) => profile.goodWith.dogs],
  ['good with cats', ({ profile }) => profile.goodWith.cats],
  ['min child age', ({ profile }) => profile.minChildAge],
  ['fee', ({ profile: { fee } }) => fee && `${formatAmount(fee)} ${fee.currency}`],
  ['arrived on', ({ profile }) => profile.arrivedOn],
  ['adopted on', ({ profile }) => profile.adoptedOn],
  ['listed', ({ profile }) => profile.listed],
  ['microchip', ({ profile }) => profile.microchip],
  ['location', ({ profile }) => profile.location],
  ['staff notes', ({ profile }) => profile.staffNotes],
  ['contact url', ({ profile }) => profile.contactUrl],
  ['video url', ({ profile }) => profile.videoUrl],
  ['source', ({ profile }) => profile.source],
  ['number at the source', ({ profile }) => (profile.source === '' ? '' : profile.externalId)],
  ['photo count', ({ photos }) => photos.length],
  ['beginning of the description', ({ profile }) => profile.summary],
]

/** Saves the animals that meet the filters. */
export async function exportAnimals(filters: Filters): Promise<void> {
  await loadCategories()
  await exportCsv({
    name: 'animals',
    noun: 'animal',
    columns,
    load: (cursor) => store.listings.list({ ...queryOf(filters), limit: exportPageSize, cursor }).page(),
  })
}
