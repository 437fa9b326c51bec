import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { continueFeed, lastEventId } from '../../src/events/queries.ts'
import { indexStep, needsIndexing } from '../../src/listings/indexing.ts'
import { createPets } from '../../src/pets/storedPets.ts'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import type { ClientResponse } from '../support/client.ts'
import { assertError } from '../support/responses.ts'

/** The service of these tests does not write the index: they do. */
const { service, call } = useCheckedCalls()

/** More than are deleted from an index in one step. */
const animals = 1_100
const limit = 20
const searchers = 4
const builds = 5

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
    await database.write((trx) => indexStep(trx, through, service.now()))
}

/** As after a restore: the events do not say any more what the index lacks. */
async function loseEvents(): Promise<void> {
  const database = await service.openDatabase()
  await database.write(async (trx) => {
    await continueFeed(trx, (await trx.dialect.lastAssignedId(trx, 'events')) + 1)
  })
}

let searches = 0
/** Each search has another address, so that no page is cached. */
const search = () => call('GET', `/v1/listings?q=luna&limit=${limit}&search=${++searches}`)
const idsOf = ({ json }: ClientResponse): number[] => json.map(({ pet }: { pet: { id: number } }) => pet.id)
const newestIds = async () => idsOf(await call('GET', `/v1/listings?limit=${limit}`))

function assertUnavailable(response: ClientResponse, reason: RegExp): void {
  assertError(response, 503, 'unavailable')
  assert.match(response.json.message, reason)
  assert.match(String(response.headers['retry-after']), /^[1-9]\d*$/)
}

before(() => addPets(animals))

test('a search is unavailable until the index is built, and until it is built again', async () => {
  assertUnavailable(await search(), /^The search index is being built\./)
  const newest = await newestIds()
  assert.equal(newest.length, limit)
  await updateIndex()
  assert.deepEqual(idsOf(await search()), newest)
  await loseEvents()
  assertUnavailable(await search(), /^The search index is being built\./)
  await updateIndex()
  assert.deepEqual(idsOf(await search()), newest)
})

test('a search is unavailable if the index does not have a change of more than 5 seconds ago', async () => {
  await updateIndex()
  const before = await newestIds()
  await addPets(1)
  service.advance(5_000)
  assert.deepEqual(idsOf(await search()), before)
  service.advance(1)
  assertUnavailable(await search(), /^The search index does not have the latest changes yet\./)
  const newest = await newestIds()
  assert.notDeepEqual(newest, before)
  await addPets(1)
  assertUnavailable(await search(), /^The search index does not have the latest changes yet\./)
  await updateIndex()
  assert.deepEqual(idsOf(await search()), await newestIds())
})

test('searches while the index is built again find everything or are unavailable', async () => {
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
})
