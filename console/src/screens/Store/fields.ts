import type { StoreProfile } from '../../../../client/src/index.ts'

export type FieldName = Exclude<keyof StoreProfile, 'adoptionPage' | 'publicUrl'>

type StoreField = {
  readonly name: FieldName
  readonly label: string
  readonly type?: 'tel' | 'email' | 'url'
  readonly placeholder?: string
  readonly isMultiline?: boolean
}

/** What the store says about itself, in the order in which it is shown. */
export const storeFields: readonly StoreField[] = [
  { name: 'name', label: 'Name' },
  { name: 'about', label: 'About', isMultiline: true },
  { name: 'phone', label: 'Phone', type: 'tel' },
  { name: 'email', label: 'E-mail', type: 'email' },
  { name: 'url', label: 'Web site', type: 'url', placeholder: 'https://shelter.example' },
  { name: 'address', label: 'Address', isMultiline: true },
]
