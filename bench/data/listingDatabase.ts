/** Databases with profiles and a complete search index, on both engines. */
import { fileURLToPath } from 'node:url'
import { withDatabase } from '../../src/commands/database.ts'
import type { Database } from '../../src/database/database.ts'
import { insertMany } from '../../src/database/preparedQuery.ts'
import { createPets } from '../../src/pets/storedPets.ts'
import { type Env, runProgram } from '../host/processes.ts'
import { animalOf } from './animals.ts'
import { type Checkout, createKey } from './checkout.ts'
import { cachedDir, writeKey } from './databases.ts'
import { buildSearchIndex } from './searchIndex.ts'

const petsPerWrite = 1_000

/** A data directory with this number of animals and a key. */
export const listingDatabase = (checkout: Checkout, count: number): Promise<string> =>
  cachedDir(checkout, `listings-${count}`, async (dir) => {
    writeKey(dir, await fillListings(checkout, { PETSTORE_DATA_DIR: dir }, count))
  })

/** Fills an empty database. Returns a key. */
export async function fillListings(checkout: Checkout, env: Env, count: number): Promise<string> {
  const key = await createKey(checkout, env)
  // In a separate process, because statements of SQLite block the event loop and signals would not be handled.
  await runProgram([process.execPath, fileURLToPath(import.meta.url), String(count)], env)
  await buildSearchIndex(checkout, env)
  return key
}

const insertProfiles = insertMany('profiles', ['pet_id', 'listed', 'data'])

async function addAnimals(database: Database, count: number): Promise<void> {
  const now = Date.now()
  for (let first = 1; first <= count; first += petsPerWrite) {
    const length = Math.min(petsPerWrite, count - first + 1)
    const animals = Array.from({ length }, (_, index) => ({
      id: first + index,
      ...animalOf(first + index),
    }))
    await database.write(async (trx) => {
      await createPets(
        trx,
        animals.map(({ id, pet }) => ({ id, ...pet })),
        now,
      )
      const rows = animals.map(({ id, profile }) => {
        const { source: _, externalId: __, listed, ...stored } = profile
        return [id, Number(listed), JSON.stringify(stored)]
      })
      await insertProfiles(trx, rows)
    })
    await database.readableThrough()
  }
}

const [, program, count] = process.argv
if (program === fileURLToPath(import.meta.url))
  await withDatabase(process.env, (database) => addAnimals(database, Number(count)))
