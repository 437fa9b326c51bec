/** The rules for pets, without HTTP or SQL. */

export const petStatuses = ['available', 'pending', 'sold'] as const
export type PetStatus = (typeof petStatuses)[number]

export type Pet = { id: number; name: string; categoryId: bigint; status: PetStatus }
export type NewPet = { name: string; categoryId: bigint; status?: PetStatus | undefined }
export type PetUpdate = { [Field in keyof NewPet]?: NewPet[Field] | undefined }

export const petNameLengthMax = 255

/** The date, in UTC, on which an animal with this status was adopted, if it has got the status now. */
export const adoptedOnFor = (status: PetStatus, now: number): string | null =>
  status === 'sold' ? new Date(now).toISOString().slice(0, 10) : null

/** The statuses that a request may change each status to. A sold pet that is returned becomes available first. */
const transitions: Record<PetStatus, readonly PetStatus[]> = {
  available: ['pending', 'sold'],
  pending: ['available', 'sold'],
  sold: ['available'],
}

export const isPetTransitionAllowed = (from: PetStatus, to: PetStatus): boolean =>
  from === to || transitions[from].includes(to)
