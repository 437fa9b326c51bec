import type { Int64, Event as StoreEvent } from '../../../../../client/src/index.ts'

/** What is shown beside the profile. It is loaded again with each version of the animal. */
export type SideCardProps = { petId: Int64; version: unknown }

/** Several changes within this time are one reload. */
export const collectMs = 250

/** Whether an event is about an animal, its profile, its photos or its orders. */
export function isAbout({ type, data }: StoreEvent, petId: Int64): boolean {
  if (type.startsWith('pet.')) return data.id === petId
  return 'petId' in data && data.petId === petId
}
