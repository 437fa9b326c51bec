import type { RecordKey } from '../api/operation.ts'
import type { Pet } from './pet.ts'

type CreateRequest = {
  readonly pet: Omit<Pet, 'id'>
  readonly now: number
  /** The idempotency record to create with the pet. */
  readonly record: RecordKey | undefined
}

/**
 * Creates pets for many requests at once. Returns the ids in the order of the requests: undefined if the request has a
 * record already, or if another transaction runs it.
 */
export type CreatePetBatch = (
  requests: readonly CreateRequest[],
  retentionMs: number,
  locationBase: string,
) => Promise<readonly (number | undefined)[]>
