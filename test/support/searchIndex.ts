import assert from 'node:assert/strict'
import { continueFeed, lastEventId } from '../../src/events/queries.ts'
import { indexStep, needsIndexing } from '../../src/listings/indexing.ts'
import { createPets } from '../../src/pets/storedPets.ts'
import type { useCheckedCalls } from './checkedCalls.ts'
import type { ClientResponse } from './client.ts'

/** More than are deleted from an index in one step. */
export const animals = 1_100
export const limit = 20
const searchers = 4

export const idsOf = ({ json }: ClientResponse): number[] =>
  json.map(({ pet }: { pet: { id: number } }) => pet.id)

/** The search of a service that does not write its index: the tests do. */
export function searchIndexOf({ service, call }: ReturnType<typeof useCheckedCalls>) {
  async function addPets(count: number): Promise<void> {
    const pets = Array.from({ length: count }, () => ({ name: 'Luna', categoryId: 3n }))
    const database = await service.openDatabase()
    await database.write((trx) => createPets(trx, pets, service.now()))
    // As the indexer does before each step: PostgreSQL gives the changes their ids.
    await database.readableThrough()
  }

  async function updateIndex(): Promise<void> {
    const database = await service.openDatabase()
    const through = await lastEventId(database.read, await database.allReadableThrough())
    while (await needsIndexing(database.read, through))
      await database.write((trx) => indexStep(trx, through, () => service.now()))
  }

  /** As after a restore: the events do not say any more what the index lacks. */
  async function loseEvents(): Promise<void> {
    const database = await service.openDatabase()
    await database.write(async (trx) => {
      await continueFeed(trx, (await trx.dialect.lastAssignedId(trx, 'events')) + 1)
    })
  }

  const search = () => call('GET', `/v1/listings?q=luna&limit=${limit}`)
  const newestIds = async () => idsOf(await call('GET', `/v1/listings?limit=${limit}`))

  /** Searches while the index is built again find everything or are unavailable. */
  async function searchDuringBuilds(builds: number): Promise<void> {
    await updateIndex()
    const newest = await newestIds()
    let isBuilding = true
    const keepSearching = async () => {
      while (isBuilding) {
        const response = await search()
        if (response.status === 503) continue
        assert.equal(response.status, 200, response.text)
        assert.deepEqual(idsOf(response), newest)
      }
    }
    const searching = Promise.all(Array.from({ length: searchers }, keepSearching))
    for (let build = 0; build < builds; build++) {
      await loseEvents()
      await updateIndex()
      // So that searches are also under way when the next one begins.
      assert.deepEqual(idsOf(await search()), newest)
    }
    isBuilding = false
    await searching
  }

  return { addPets, updateIndex, loseEvents, search, newestIds, searchDuringBuilds }
}
