/** The rules for the store's own data, without HTTP or SQL. */

export type StoreProfile = {
  name: string | null
  about: string | null
  phone: string | null
  email: string | null
  url: string | null
  address: string | null
  /** Whether the store shows its animals on web pages that need no key. */
  adoptionPage: boolean
}

/** Before the first change. */
export const emptyStoreProfile: StoreProfile = {
  name: null,
  about: null,
  phone: null,
  email: null,
  url: null,
  address: null,
  adoptionPage: false,
}

/** The fields to change. Null clears a field. */
export type StoreProfileUpdate = { [Field in keyof StoreProfile]?: StoreProfile[Field] | null | undefined }

export function updatedStoreProfile(profile: StoreProfile, change: StoreProfileUpdate): StoreProfile {
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  const cleared = given.map(([name, value]) => [name, value ?? emptyStoreProfile[name as keyof StoreProfile]])
  return { ...profile, ...Object.fromEntries(cleared) }
}

export const isSameStoreProfile = (a: StoreProfile, b: StoreProfile): boolean =>
  JSON.stringify(a) === JSON.stringify(b)
