import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { RequestOptions } from '../support/client.ts'
import { disk } from '../support/disk.ts'
import { eventually } from '../support/eventually.ts'

// Loaded after the module that replaces fdatasync.
const { databaseFile } = await import('../../src/database/sqlite/open.ts')
const { createPets } = await import('../../src/pets/storedPets.ts')
const { loopbackAllowed, startWebhookReceiver } = await import('../support/webhookReceiver.ts')
const { folderFor } = await import('../support/servers.ts')
const { startTestService } = await import('../support/service.ts')

type Event = { id: number; type: string; data: { name: string } }
/** Longer than any poll interval of the service. */
const lookMs = 1_500

async function serviceFor(t: TestContext, env: Record<string, string> = {}) {
  const service = await startTestService(env)
  t.after(async () => {
    disk.set('ok')
    await service.stop()
  })
  const key = env.PETSTORE_ADMIN_KEY ?? service.operatorKey
  const call = (method: string, path: string, options: RequestOptions = {}) =>
    service.request(method, `/v1${path}`, { key, ...options })
  const add = (name: string) => call('POST', '/pets', { body: { name, categoryId: 1 } })
  const listed = async (): Promise<string[]> =>
    (await call('GET', '/pets')).json.map(({ name }: { name: string }) => name)
  const feed = async () => {
    const { headers, json } = await call('GET', '/events?limit=1000')
    const events: Event[] = json
    return { newest: Number(headers['last-event-id']), events, names: namesIn(events) }
  }
  return { service, key, call, add, listed, feed }
}

const namesIn = (events: readonly Event[]) =>
  events.filter(({ type }) => type === 'pet.created').map(({ data }) => data.name)

test('the feed shows an event when it is durable, before the response to the caller', async (t) => {
  const client = await serviceFor(t)
  assert.equal((await client.add('first')).status, 201)
  const before = await client.feed()
  assert.deepEqual(before.names, ['first'])
  assert.equal(before.newest, before.events.at(-1)?.id)
  disk.set('hang')
  const adding = client.add('second')
  await eventually('the list has it', async () => (await client.listed()).includes('second'))
  assert.deepEqual(await client.feed(), before)
  const beyond = await client.call('GET', `/events?after=${before.newest + 1}`)
  assert.equal(beyond.json.code, 'events_expired')
  assert.deepEqual((await client.call('GET', `/events?after=${before.newest}`)).json, [])
  disk.set('ok')
  assert.equal((await adding).status, 201)
  assert.deepEqual((await client.feed()).names, ['first', 'second'])
})

test('a stream shows an event when it is durable', async (t) => {
  const client = await serviceFor(t)
  const { newest } = await client.feed()
  disk.set('hang')
  const adding = client.add('held')
  await eventually('the list has it', async () => (await client.listed()).includes('held'))
  const stream = await fetch(`${client.service.base}/v1/events?after=${newest}`, {
    headers: { authorization: `Bearer ${client.key}`, accept: 'text/event-stream' },
  })
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  let received = ''
  const reading = (async () => {
    for (;;) {
      const piece = await reader?.read()
      if (!piece || piece.done) return
      received += piece.value
    }
  })()
  await pause(lookMs)
  assert.doesNotMatch(received, /held/)
  disk.set('ok')
  await adding
  await eventually('the stream has it', () => /"name":"held"/.test(received))
  await reader?.cancel()
  await reading
})

test('an event of another process is shown when the service has synced it', async (t) => {
  const client = await serviceFor(t)
  const other = await client.service.openDatabase()
  const addElsewhere = (name: string) =>
    other.write((trx) =>
      createPets(trx, [{ name, categoryId: 1n, status: 'available' }], client.service.now()),
    )
  await addElsewhere('first')
  assert.deepEqual((await client.feed()).names, ['first'], 'immediately while the disk responds')
  disk.set('hang')
  await addElsewhere('second')
  assert.deepEqual(await client.listed(), ['second', 'first'])
  assert.deepEqual((await client.feed()).names, ['first'])
  disk.set('ok')
  await eventually('the feed has it', async () => (await client.feed()).names.length === 2)
})

test('after a power loss only ids that were never shown are assigned again', async (t) => {
  const adminKey = 'the-admin-key-of-the-durable-feed-test'
  const first = await serviceFor(t, { PETSTORE_ADMIN_KEY: adminKey })
  assert.equal((await first.add('confirmed')).status, 201)
  const dataDir = join(folderFor(t), 'data')
  mkdirSync(dataDir)
  // This process does nothing else while it copies the files.
  await eventually('everything is synced', () => disk.isIdle)
  for (const suffix of ['', '-wal'])
    execFileSync('cp', [databaseFile(first.service.dataDir) + suffix, databaseFile(dataDir) + suffix])
  disk.set('hang')
  const adding = first.add('lost')
  await eventually('the list has it', async () => (await first.listed()).includes('lost'))
  const mirror = await first.feed()
  assert.deepEqual(mirror.names, ['confirmed'])

  disk.set('ok')
  await adding
  const second = await serviceFor(t, { PETSTORE_ADMIN_KEY: adminKey, PETSTORE_DATA_DIR: dataDir })
  assert.deepEqual((await second.feed()).newest, mirror.newest, 'the position of the mirror is still valid')
  assert.equal((await second.add('after the power loss')).status, 201)
  const { json } = await second.call('GET', `/events?after=${mirror.newest}`)
  assert.deepEqual(namesIn(json), ['after the power loss'])
  assert.equal(json[0].id, mirror.newest + 1)
})

test('a webhook receives an event when it is durable', async (t) => {
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  const client = await serviceFor(t, loopbackAllowed)
  const body = { url: receiver.url, events: ['pet.created'] }
  assert.equal((await client.call('POST', '/webhooks', { body })).status, 201)
  disk.set('hang')
  const adding = client.add('held')
  await eventually('the list has it', async () => (await client.listed()).includes('held'))
  await pause(lookMs)
  assert.deepEqual(receiver.received, [])
  disk.set('ok')
  await adding
  assert.equal((await receiver.until(1)).data.name, 'held')
})

test('a retry of a delivery is not sent before its claim is durable', async (t) => {
  const receiver = await startWebhookReceiver()
  t.after(() => receiver.stop())
  receiver.reply = 500
  const client = await serviceFor(t, loopbackAllowed)
  const body = { url: receiver.url, events: ['pet.created'] }
  const { json: webhook } = await client.call('POST', '/webhooks', { body })
  await client.add('delivered twice')
  await receiver.until(1)
  const pending = await eventually('the attempt is recorded', async () => {
    const { json } = await client.call('GET', `/webhooks/${webhook.id}/deliveries`)
    return json[0].attempts === 1 ? json[0] : undefined
  })
  disk.set('hang')
  client.service.advance(60_000)
  await eventually('the claim waits for the disk', () => disk.isBusy)
  await pause(lookMs)
  assert.equal(receiver.received.length, 1)
  receiver.reply = 200
  disk.set('ok')
  assert.equal((await receiver.until(2)).id, receiver.received[0]?.id)
  assert.equal(pending.status, 'pending')
})
