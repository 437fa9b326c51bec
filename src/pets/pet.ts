/** An animal and its rules. Nothing here knows of HTTP or SQL. */

export const petStatuses = ['available', 'pending', 'sold'] as const
export type PetStatus = (typeof petStatuses)[number]

export type Pet = { id: number; name: string; categoryId: bigint; status: PetStatus }
export type NewPet = { name: string; categoryId: bigint; status?: PetStatus | undefined }
export type PetChange = {
  name?: string | undefined
  categoryId?: bigint | undefined
  status?: PetStatus | undefined
}

export const petNameLengthMax = 255

/** Length in characters (code points), as JSON Schema counts it. */
export const isPetName = (text: string): boolean => {
  const length = [...text].length
  return length >= 1 && length <= petNameLengthMax && text.trim() !== ''
}

/** Where an animal may go from each status by a plain change. A sold animal that comes back is available first. */
const transitions: Record<PetStatus, readonly PetStatus[]> = {
  available: ['pending', 'sold'],
  pending: ['available', 'sold'],
  sold: ['available'],
}

export const isPetTransitionAllowed = (from: PetStatus, to: PetStatus): boolean =>
  from === to || transitions[from].includes(to)
