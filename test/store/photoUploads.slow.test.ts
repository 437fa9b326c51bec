import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import sharp from 'sharp'
import { cliOn, cliOnNewDatabase } from '../support/commands.ts'
import { engine, openTestDatabase } from '../support/engine.ts'
import { jpeg } from '../support/images.ts'
import { adminKey, makeAmpleKey, sharedDatabase, tally } from '../support/instances.ts'
import { folderFor, type Server, serverFor } from '../support/servers.ts'

const megabyte = 1024 * 1024
const headers = { 'content-type': 'image/jpeg' }

async function addPet(server: Server): Promise<number> {
  const body = { name: 'Luna', categoryId: 1 }
  return (await server.request('POST', '/v1/pets', { key: adminKey, body })).json.id
}
const upload = (server: Server, petId: number, body: Uint8Array) =>
  server.request('POST', `/v1/pets/${petId}/photos`, { key: adminKey, body, headers })

/** The digest of every file of every photo. */
async function filesIn(env: Parameters<typeof openTestDatabase>[0]): Promise<string[]> {
  const database = await openTestDatabase(env)
  try {
    const rows = await database.read
      .selectFrom('photo_files')
      .innerJoin('photos', 'photos.id', 'photo_id')
      .select(['token', 'name', 'bytes'])
      .execute()
    return rows
      .map(({ token, name, bytes }) => `${token} ${name} ${createHash('sha256').update(bytes).digest('hex')}`)
      .sort()
  } finally {
    await database.close()
  }
}

const residentBytes = (pid: number): number =>
  1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

/** A photo of 12 megapixels as cameras make them, with some detail. */
const largePhoto = () =>
  sharp({
    create: {
      width: 4_000,
      height: 3_000,
      channels: 3,
      background: '#808080',
      noise: { type: 'gaussian', mean: 128, sigma: 12 },
    },
  })
    .jpeg({ quality: 80 })
    .toBuffer()

describe('20 photos of 12 megapixels', () => {
  test('grow the memory of the service by less than 40 MB, and are the same after a transfer', async (t) => {
    const { databaseEnv, owner } = await sharedDatabase(t)
    const env = { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey, PETSTORE_LOG_LEVEL: 'error' }
    const server = await serverFor(owner, env)
    const photo = await largePhoto()
    const pets = [await addPet(server), await addPet(server)]
    for (let count = 0; count < 3; count++)
      assert.equal((await upload(server, pets[0] as number, photo)).status, 201)
    const before = residentBytes(server.child.pid as number)
    for (let count = 0; count < 17; count++) {
      const { status, text } = await upload(server, pets[count % 2] as number, photo)
      assert.equal(status, 201, text)
    }
    const grown = residentBytes(server.child.pid as number) - before
    t.diagnostic(`the memory has grown by ${(grown / megabyte).toFixed(1)} MB`)
    assert.ok(grown < 40 * megabyte, `${grown} bytes`)

    const files = await filesIn(databaseEnv)
    assert.equal(files.length, 4 * 20)
    const cli = cliOn(databaseEnv)
    const second = await cliOnNewDatabase(owner)
    await second.ok(['import', '--with-keys'], await cli.export())
    assert.deepEqual(await filesIn(second.env), files)
    assert.deepEqual((await cli.ok(['export', '--without-photos'])).includes('"type":"photo"'), false)
    if (engine === 'sqlite') {
      const copy = join(folderFor(owner), 'backup.db')
      await cli.ok(['backup', copy])
      const third = await cliOnNewDatabase(owner)
      await third.ok(['restore', copy, '--replace'])
      assert.deepEqual(await filesIn(third.env), files)
    }
    for (const id of pets) await server.request('DELETE', `/v1/pets/${id}`, { key: adminKey })
    assert.deepEqual(await filesIn(databaseEnv), [])
  })
})

test('50 uploads at once get 201 or 503, and other callers get their responses', async (t) => {
  const { databaseEnv, owner } = await sharedDatabase(t)
  const server = await serverFor(owner, { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey })
  const pets = await Promise.all(Array.from({ length: 5 }, () => addPet(server)))
  const photo = await jpeg(2_000, 1_500)
  const key = await makeAmpleKey(server)
  const uploads = Promise.all(
    Array.from({ length: 50 }, (_, at) => upload(server, pets[at % 5] as number, photo)),
  )
  let isUploading = true
  void uploads.finally(() => {
    isUploading = false
  })
  let reads = 0
  for (; isUploading; reads++) {
    const { status } = await server.request('GET', '/v1/pets?limit=5', { key })
    assert.equal(status, 200)
  }
  const responses = await uploads
  const statuses = tally(responses.map(({ status }) => status))
  t.diagnostic(`${JSON.stringify(statuses)}, ${reads} reads in between`)
  assert.deepEqual(
    Object.keys(statuses).filter((status) => status !== '201' && status !== '503'),
    [],
  )
  for (const { status, headers: sent } of responses)
    if (status === 503) assert.ok(Number(sent['retry-after']) > 0)
  assert.equal(new Set(await filesIn(databaseEnv)).size, 4 * (statuses[201] ?? 0))
})
