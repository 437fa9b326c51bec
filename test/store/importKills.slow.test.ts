import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { assertIntegrity, openTestDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { Fleet } from '../support/fleet.ts'
import { importCalls } from '../support/imports.ts'
import { adminKey, retryWhile503, sharedDatabase } from '../support/instances.ts'
import { serverFor } from '../support/servers.ts'

const kills = 3
const count = 20_000
const csv = [
  'external id,name,categoryId,breed,description',
  ...Array.from({ length: count }, (_, at) => `K-${at},Pet ${at},${1 + (at % 3)},Boxer,Number ${at}`),
].join('\n')

test('kills at any time of an import lose no animal, and add none twice', async (t) => {
  const { databaseEnv, owner } = await sharedDatabase(t)
  const env = { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey, PETSTORE_LOG_LEVEL: 'error' }
  const fleet = new Fleet(() => serverFor(owner, env), 1)
  await fleet.begin()
  const { checked, apply, get, applied } = importCalls((method, path, options = {}) =>
    retryWhile503(() => fleet.any().request(method, path, { key: adminKey, ...options })),
  )
  const { id, expected } = await checked(csv)
  assert.equal((await apply(id)).status, 202)
  async function doneOf(): Promise<number> {
    const { status, json, text } = await get(id)
    assert.equal(status, 200, text)
    return json.done
  }
  // Another instance continues when the one that was killed was silent for some seconds.
  const progressAfter = (done: number) =>
    eventually(
      'the import makes progress',
      async () => {
        const now = await doneOf()
        return now > done && now
      },
      60_000,
    )
  for (let kill = 0; kill < kills; kill++) {
    await fleet.killOne()
    await fleet.complete()
    await progressAfter(await doneOf())
    await pause(500 * Math.random())
  }
  // Each step has a time limit, and the whole import none: on a slow machine it takes minutes.
  for (let done = await doneOf(); done < count; ) done = await progressAfter(done)
  const { result } = await applied(id)
  assert.deepEqual(result, expected)
  const database = await openTestDatabase(databaseEnv)
  owner.after(() => database.close())
  const pets = await database.read.selectFrom('pets').select(['external_id', 'name']).execute()
  assert.equal(pets.length, count)
  assert.equal(new Set(pets.map(({ external_id }) => external_id)).size, count)
  const { read } = database
  const created = await read.selectFrom('events').select('id').where('type', '=', 'pet.created').execute()
  assert.equal(created.length, count)
  assert.equal((await read.selectFrom('profiles').select('pet_id').execute()).length, count)
  assert.deepEqual(await read.selectFrom('import_batches').selectAll().execute(), [])
  assertIntegrity(databaseEnv)
})
