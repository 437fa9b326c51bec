import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { decodePhoto } from '../../src/photos/decode.ts'
import { assertIntegrity, openTestDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { Fleet, WorkPeriod } from '../support/fleet.ts'
import { jpeg } from '../support/images.ts'
import { adminKey, sharedDatabase } from '../support/instances.ts'
import { serverFor } from '../support/servers.ts'

/** `PETSTORE_TEST_KILLS` is the number for a longer run. */
const kills = Number(process.env.PETSTORE_TEST_KILLS ?? 8)
const uploaders = 3
/** More than the test takes. Its last kill ends it. */
const periodMaxMs = 10 * 60_000
const uploadMaxMs = 60_000
const headers = { 'content-type': 'image/jpeg' }

const digests = (files: Iterable<readonly [name: string, bytes: Uint8Array]>) =>
  Object.fromEntries([...files].map(([name, bytes]) => [name, hash('sha256', bytes)]))

test('kills at any time of uploads leave each photo whole or not at all', async (t) => {
  const { databaseEnv, owner } = await sharedDatabase(t)
  const env = { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey, PETSTORE_LOG_LEVEL: 'error' }
  const fleet = new Fleet(() => serverFor(owner, env), 1)
  await fleet.begin()
  const image = await jpeg(1_000, 800)
  const whole = digests(Object.entries((await decodePhoto(image)).files))
  const confirmed = new Set<string>()
  const send = async (method: string, path: string, options: object = {}) =>
    fleet
      .any()
      .request(method, path, { key: adminKey, ...options })
      .catch(() => undefined)
  const period = new WorkPeriod(periodMaxMs)
  const uploadPhotos = (worker: number) =>
    period.repeat(async () => {
      const pet = await send('POST', '/v1/pets', { body: { name: `Luna ${worker}`, categoryId: 1 } })
      if (pet?.status !== 201) return pause(50)
      const photo = await send('POST', `/v1/pets/${pet.json.id}/photos`, { body: image, headers })
      if (photo?.status === 201) confirmed.add(photo.json.id)
    })
  // A slow machine gets the time for at least one upload before each kill.
  const killOne = async () => {
    const before = confirmed.size
    await eventually('a photo is confirmed', () => confirmed.size > before, uploadMaxMs)
    await pause(1_000 * Math.random())
    await fleet.killOne()
    if (fleet.kills === kills) period.end()
  }
  await period.over([
    ...Array.from({ length: uploaders }, (_, worker) => uploadPhotos(worker)),
    period.repeat(killOne),
  ])
  await fleet.complete()
  assert.equal(fleet.kills, kills)

  const database = await openTestDatabase(databaseEnv)
  owner.after(() => database.close())
  const photos = await database.read.selectFrom('photos').selectAll().execute()
  const tokens = new Set(photos.map(({ token }) => token))
  assert.deepEqual(
    [...confirmed].filter((token) => !tokens.has(token)),
    [],
    'no confirmed photo is lost',
  )
  for (const { id } of photos) {
    const files = await database.read
      .selectFrom('photo_files')
      .selectAll()
      .where('photo_id', '=', id)
      .execute()
    assert.deepEqual(digests(files.map(({ name, bytes }) => [name, bytes])), whole)
  }
  const ids = new Set(photos.map(({ id }) => id))
  const files = await database.read.selectFrom('photo_files').select('photo_id').execute()
  assert.ok(
    files.every(({ photo_id }) => ids.has(photo_id)),
    'no file is without a photo',
  )
  assertIntegrity(databaseEnv)
  t.diagnostic(`${fleet.kills} kills, ${confirmed.size} photos confirmed, ${photos.length} stored`)
})
