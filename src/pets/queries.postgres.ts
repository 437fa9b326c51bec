import { sql } from 'kysely'
import { actorText } from '../actor.ts'
import { recordRetentionMs } from '../api/idempotency.ts'
import { toJson } from '../api/json.ts'
import type { BatchedRequest } from '../api/operation.ts'
import { basePath } from '../api/router.ts'
import type { Database } from '../database/database.ts'
import { adoptedOnFor, type Pet } from './pet.ts'

type CreateRequest = Omit<BatchedRequest<unknown>, 'input'> & { readonly pet: Omit<Pet, 'id'> }

export type CreatePetBatch = ReturnType<typeof createPetBatch>

/**
 * Creates pets for many requests with one statement, and their categories, events and idempotency records. Returns the ids
 * in the order of the requests: undefined if the request has a record already, or if another transaction runs it.
 */
export const createPetBatch =
  (database: Database, publicUrl = '') =>
  async (requests: readonly CreateRequest[]) => {
    const pets = requests.map(({ pet }) => pet)
    const records = requests.map(({ record }) => record)
    const query = sql<{ id: number | null }>`SELECT id FROM create_pets_2(
      ${pets.map(({ name }) => name)}, ${pets.map(({ categoryId }) => categoryId)},
      ${pets.map(({ status }) => status)}, ${pets.map((pet) => toJson({ id: 0, ...pet }).slice('{"id":0'.length))},
      ${requests.map(({ now }) => now)}, ${requests.map(({ pet, now }) => adoptedOnFor(pet.status, now))},
      ${requests.map((request) => actorText(request))}, ${records.map((record) => record?.keyId ?? null)},
      ${records.map((record) => record?.key ?? null)}, ${records.map((record) => record?.fingerprint ?? null)},
      ${recordRetentionMs}, ${`${publicUrl}${basePath}/pets/`})`
    const rows = await database.run(query.compile(database.read))
    return rows.map(({ id }) => id ?? undefined)
  }
