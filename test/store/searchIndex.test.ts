import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import type { ClientResponse } from '../support/client.ts'
import { assertError } from '../support/responses.ts'
import { animals, idsOf, limit, searchIndexOf } from '../support/searchIndex.ts'

const calls = useCheckedCalls()
const { service } = calls
const { addPets, updateIndex, loseEvents, search, newestIds, searchDuringBuilds } = searchIndexOf(calls)

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

test('searches while the index is built again find everything or are unavailable', () =>
  searchDuringBuilds(2))
