import { sql } from 'kysely'
import { toJson } from '../api/json.ts'
import type { Database } from '../database/database.ts'
import type { CreatePetBatch } from './createBatch.ts'

/** Creates pets, their categories, events and idempotency records with one statement. */
export const createPetBatch =
  (database: Database): CreatePetBatch =>
  async (requests, retentionMs, locationBase) => {
    const pets = requests.map(({ pet }) => pet)
    const records = requests.map(({ record }) => record)
    const query = sql<{ id: number | null }>`SELECT id FROM create_pets_1(
      ${pets.map(({ name }) => name)}, ${pets.map(({ categoryId }) => categoryId)},
      ${pets.map(({ status }) => status)}, ${pets.map((pet) => toJson({ id: 0, ...pet }).slice('{"id":0'.length))},
      ${requests.map(({ now }) => now)}, ${records.map((record) => record?.keyId ?? null)},
      ${records.map((record) => record?.key ?? null)}, ${records.map((record) => record?.fingerprint ?? null)},
      ${retentionMs}, ${locationBase})`
    const rows = await database.run(query.compile(database.read))
    return rows.map(({ id }) => id ?? undefined)
  }
