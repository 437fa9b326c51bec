/**
 * A program that uses every method of the client as a user would. `test/packages/everyMethod.test.ts` compiles it with
 * the package of the client, and runs it on each runtime.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  ConnectionError,
  type Event,
  headersOf,
  type Int64,
  type Pet,
  Petstore,
  PetstoreError,
  type RateLimit,
  verifyWebhook,
  type WebhookMessage,
  WebhookVerificationError,
} from '../../client/src/index.ts'

const store = new Petstore({ baseUrl: process.env.PETSTORE, apiKey: process.env.PETSTORE_KEY })

/** The ETag of no resource. */
const stale = { ifMatch: '"stale"' }
const fails = (call: Promise<unknown>, code: string) =>
  assert.rejects(call, (error) => error instanceof PetstoreError && error.code === code)

async function pets(): Promise<Int64> {
  const milo = await store.pets.create({ name: 'Milo', categoryId: 3 }, { idempotencyKey: 'shelter-7:milo' })
  assert.deepEqual(
    await store.pets.create({ name: 'Milo', categoryId: 3 }, { idempotencyKey: 'shelter-7:milo' }),
    milo,
  )
  const ifMatch = headersOf(milo).get('etag')
  const changed: Pet = await store.pets.update(milo.id, { status: 'pending' }, { ifMatch })
  await fails(store.pets.update(milo.id, { name: 'Luna' }, { ifMatch }), 'precondition_failed')
  assert.equal(changed.status.toUpperCase(), 'PENDING')
  assert.deepEqual(await store.pets.get(milo.id), changed)
  assert.equal(headersOf(changed).get('x-ratelimit-limit'), String(store.rateLimit?.limit))
  const names = [..."Zoë's 🐈"].map((character) => `${character}&?#/%`)
  await Promise.all(names.map((name) => store.pets.create({ name, categoryId: -(2n ** 63n) })))
  const read: string[] = []
  for await (const { name } of store.pets.list({ categoryId: -(2n ** 63n), limit: 3 })) read.push(name)
  assert.deepEqual(read.sort(), names.sort())
  const sizes: number[] = []
  for await (const { items } of store.pets.list({ categoryId: -(2n ** 63n), limit: 3 }).pages())
    sizes.push(items.length)
  assert.deepEqual(sizes, [3, 3, 1])
  assert.equal((await store.pets.list().toArray({ limit: 2 })).length, 2)
  assert.deepEqual((await store.pets.list({ id: [milo.id, 999_999] }).page()).items, [changed])
  await store.pets.delete(milo.id)
  await fails(store.pets.delete(milo.id), 'pet_not_found')
  return (await store.pets.create({ name: 'Nala', categoryId: 3 })).id
}

const pngPixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function profiles(petId: Int64): Promise<void> {
  assert.equal((await store.pets.profile.get(petId)).species, null)
  assert.equal((await store.pets.profile.update(petId, { species: 'Cat' })).species, 'cat')
  const photo = await store.pets.photos.add(petId, Buffer.from(pngPixel, 'base64'))
  const changed = await store.pets.photos.update(petId, photo.id, { alt: 'Nala' })
  assert.deepEqual(await store.pets.photos.list(petId), [changed])
  await fails(store.pets.photos.delete(petId, photo.id, stale), 'precondition_failed')
  assert.deepEqual((await store.listings.get(petId)).photos, [changed])
  // The index is a moment behind.
  await until(
    () => store.listings.list({ species: 'cat', q: 'nal' }).toArray({ limit: 10 }),
    ([first]) => first?.pet.id === petId,
  )
  await store.pets.photos.delete(petId, photo.id, { ifMatch: headersOf(changed).get('etag') })
  assert.equal((await store.pets.history.list(petId).toArray({ limit: 10 })).length, 5)
}

async function orders(petId: Int64): Promise<void> {
  const customer = { name: 'Ada Example', email: 'ada@shelter.example' }
  const order = await store.orders.create({ petId, customer, note: 'Two\nlines' })
  await fails(store.orders.create({ petId }), 'pet_unavailable')
  const ifMatch = headersOf(order).get('etag')
  assert.equal((await store.orders.update(order.id, { status: 'approved' }, { ifMatch })).status, 'approved')
  await fails(store.orders.update(order.id, { status: 'delivered' }, { ifMatch }), 'precondition_failed')
  await fails(store.orders.eraseCustomer(order.id, { ifMatch }), 'precondition_failed')
  assert.equal((await store.orders.get(order.id)).customer?.email, customer.email)
  assert.deepEqual(
    (await store.orders.list({ petId, status: 'approved' }).toArray({ limit: 10 })).map(({ id }) => id),
    [order.id],
  )
  await store.orders.update(order.id, { status: 'delivered' })
  await store.orders.eraseCustomer(order.id)
  assert.equal((await store.orders.get(order.id)).customer, undefined)
  const { available, pending, sold } = await store.inventory.get()
  assert.deepEqual([available, pending, sold], [7, 0, 1])
}

async function categories(): Promise<void> {
  const rabbits = await store.categories.create({ name: 'Rabbits' })
  const { id } = rabbits
  const ifMatch = headersOf(rabbits).get('etag')
  assert.equal((await store.categories.update(id, { name: null }, { ifMatch })).name, undefined)
  await fails(store.categories.delete(id, { ifMatch }), 'precondition_failed')
  assert.deepEqual(await store.categories.get(id), { id })
  const ids = (await store.categories.list().toArray({ limit: 100 })).map((category) => category.id)
  assert.deepEqual(ids, [-(2n ** 63n), id, 3])
  await store.categories.delete(id)
}

async function storeProfile(): Promise<void> {
  const ifMatch = headersOf(await store.profile.get()).get('etag')
  const changed = await store.profile.update({ name: 'Second Chance' }, { ifMatch })
  await fails(store.profile.update({ name: null }, { ifMatch }), 'precondition_failed')
  assert.deepEqual(await store.profile.get(), changed)
}

async function events(): Promise<void> {
  const { items, headers, nextCursor } = await store.events.list({ limit: 2 }).page()
  assert.deepEqual(
    items.map(({ type }) => type),
    ['key.created', 'category.created'],
  )
  const controller = new AbortController()
  assert.equal(Number(nextCursor), items[1]?.id)
  // The stream begins with the newest event, and then waits for the next one.
  const after = Number(headers.get('last-event-id')) - 1
  const received: Event[] = []
  await assert.rejects(async () => {
    for await (const event of store.events.stream({ after }, { signal: controller.signal })) {
      received.push(event)
      if (received.length === 1) await store.pets.create({ name: 'Second', categoryId: 3 })
      else controller.abort(new Error('enough'))
    }
  }, /enough/)
  assert.equal(received.length, 2)
}

/** Less than the time that the program has. */
const waitMaxMs = 20_000

/** Reads until the result is as expected. */
async function until<T>(read: () => Promise<T>, isExpected: (result: T) => boolean): Promise<void> {
  const endsAt = performance.now() + waitMaxMs
  for (;;) {
    const result = await read()
    if (isExpected(result)) return
    if (performance.now() > endsAt) throw new Error(`The result is still ${JSON.stringify(result)}.`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A server of a partner that keeps the messages whose signature is valid. */
function receiver(secret: () => string, messages: WebhookMessage[]): Server {
  return createServer(async (request, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    try {
      messages.push(await verifyWebhook(body, request.headers, secret()))
      await assert.rejects(verifyWebhook(`${body} `, request.headers, secret()), WebhookVerificationError)
      response.writeHead(204).end()
    } catch (error) {
      console.error(error)
      process.exit(1)
    }
  })
}

/** Waits until the newest delivery has succeeded with this number of attempts. */
const delivered = (webhookId: Int64, attempts: number): Promise<void> =>
  until(
    async () => (await store.webhooks.deliveries(webhookId).page()).items[0],
    (newest) => newest?.status === 'delivered' && newest.attempts === attempts,
  )

async function webhooks(): Promise<void> {
  const messages: WebhookMessage[] = []
  let secret = ''
  const server = receiver(() => secret, messages).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const webhook = await store.webhooks.create({ url, events: ['pet.created'] })
  secret = webhook.secret
  const delivery = await store.webhooks.test(webhook.id)
  await delivered(webhook.id, 1)
  assert.equal(messages[0]?.type, 'webhook.test')
  assert.equal((await store.webhooks.retryDelivery(webhook.id, delivery.id)).id, delivery.id)
  await delivered(webhook.id, 2)
  assert.equal(messages.length, 2)
  secret = (await store.webhooks.rotateSecret(webhook.id, { overlapSeconds: 60 })).secret
  assert.equal((await store.webhooks.update(webhook.id, { status: 'paused' })).status, 'paused')
  assert.equal((await store.webhooks.get(webhook.id)).url, url)
  assert.deepEqual(
    (await store.webhooks.list().toArray({ limit: 5 })).map(({ id }) => id),
    [webhook.id],
  )
  await fails(store.webhooks.update(webhook.id, { status: 'enabled' }, stale), 'precondition_failed')
  await fails(store.webhooks.rotateSecret(webhook.id, {}, stale), 'precondition_failed')
  await fails(store.webhooks.delete(webhook.id, stale), 'precondition_failed')
  await store.webhooks.delete(webhook.id)
  server.closeAllConnections()
  server.close()
}

async function imports(): Promise<void> {
  const file = new Blob(['Nickname,Kind\nRex,Dog\nIda,Dog'])
  const query = { map: ['Nickname=name'], createCategories: 'true' as const }
  const discarded = await store.imports.create(file, query)
  assert.deepEqual(
    (await store.imports.list()).map(({ id }) => id),
    [discarded.id],
  )
  await store.imports.delete(discarded.id)
  const checked = await store.imports.create(file, query)
  assert.equal(checked.expected.added, 2)
  await store.imports.apply(checked.id)
  await until(
    () => store.imports.get(checked.id),
    ({ state, result }) => state === 'applied' && result.added === 2,
  )
}

async function keys(): Promise<void> {
  const { id, key } = await store.keys.create({ name: 'Caller', plan: 'pro', scopes: ['pets:read'] })
  const caller = new Petstore({ baseUrl: process.env.PETSTORE, apiKey: key, throttle: true })
  await caller.pets.list().toArray({ limit: 1 })
  const state: RateLimit | undefined = caller.rateLimit
  assert.deepEqual([state?.limit, state?.remaining], [300, 299])
  assert.equal((await caller.limits.get()).keyId, id)
  await fails(caller.keys.get(id), 'insufficient_scope')
  assert.equal((await store.keys.limits(id)).minute.remaining, 298)
  // The figures are up to a second old.
  await until(
    () => store.keys.usage(id),
    ({ minutes }) => minutes.length >= 1,
  )
  assert.ok((await store.usage.get()).hours.length >= 1)
  assert.equal((await store.keys.update(id, { name: 'Renamed' })).name, 'Renamed')
  await fails(store.keys.update(id, { name: 'Late' }, stale), 'precondition_failed')
  await fails(store.keys.rotate(id, {}, stale), 'precondition_failed')
  await fails(store.keys.liftBan(id, stale), 'precondition_failed')
  await fails(store.keys.revoke(id, stale), 'precondition_failed')
  assert.notEqual((await store.keys.rotate(id)).key, key)
  await fails(caller.pets.list().page(), 'invalid_api_key')
  await store.keys.liftBan(id)
  await store.keys.revoke(id)
  assert.ok((await store.keys.get(id)).revokedAt)
  assert.equal((await store.keys.list({ limit: 1 }).toArray({ limit: 100 }))[0]?.id, id)
  const actions = (await store.audit.list().toArray({ limit: 3 })).map(({ action }) => action)
  assert.deepEqual(actions, ['key.revoked', 'key.unbanned', 'key.rotated'])
}

/** The port of a server that has been closed. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function connections(): Promise<void> {
  const reasons = {
    '127.0.0.1': /ECONNREFUSED/,
    localhost: /ECONNREFUSED/,
    'no-host.invalid': /ENOTFOUND|EAI_AGAIN/,
  }
  for (const [host, reason] of Object.entries(reasons)) {
    const origin = `http://${host}:${await closedPort()}`
    const nowhere = new Petstore({ baseUrl: origin, apiKey: 'a-secret-key', maxRetries: 0 })
    await assert.rejects(nowhere.limits.get(), (error) => {
      assert.ok(error instanceof ConnectionError)
      assert.ok(error.message.startsWith(`No complete response from ${origin}: `), error.message)
      assert.match(error.message, reason)
      return true
    })
  }
}

const petId = await pets()
await profiles(petId)
await orders(petId)
await categories()
await storeProfile()
await events()
await webhooks()
await imports()
await keys()
await connections()
console.log('Every method works.')
