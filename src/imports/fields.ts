/** What a column of a CSV file can be, by the names of the API where it has one. */
export const importFields = [
  'id',
  'externalId',
  'name',
  'categoryId',
  'category',
  'status',
  'adoptedOn',
  'species',
  'breeds',
  'mixed',
  'sex',
  'birthDate',
  'birthDateEstimated',
  'age',
  'ageGroup',
  'size',
  'coat',
  'colors',
  'altered',
  'houseTrained',
  'declawed',
  'vaccinated',
  'specialNeeds',
  'specialNeedsNotes',
  'courtesy',
  'goodWith.children',
  'goodWith.dogs',
  'goodWith.cats',
  'minChildAge',
  'fee',
  'description',
  'contactUrl',
  'videoUrl',
  'arrivedOn',
  'listed',
  'microchip',
  'location',
  'staffNotes',
  'photos',
  'attributes',
] as const
type FieldName = (typeof importFields)[number]

/** A pair of `attributes` has its name: `attributes.Weight`. Otherwise the heading of the column is its name. */
export type ImportField = FieldName | `attributes.${string}`

/** The columns of an export in CSV. */
export const exportFields: readonly ImportField[] = ['id', 'externalId', 'name', 'categoryId', 'status']

/** Several columns can be values of one of these, in their order. */
export const listFields: readonly ImportField[] = ['breeds', 'colors', 'photos', 'attributes']

const isImportField = (name: string): name is ImportField =>
  importFields.some((field) => field === name) || name.startsWith('attributes.')

/** Such as `Column=name`. An empty field ignores the column. Undefined for another text. */
export function parseMapping(text: string): [heading: string, field: ImportField | ''] | undefined {
  const at = text.lastIndexOf('=')
  const [heading, field] = [text.slice(0, at), text.slice(at + 1)]
  const isField = field === '' || (isImportField(field) && !field.includes('\u0000'))
  return at > 0 && isField ? [heading, field as ImportField | ''] : undefined
}
