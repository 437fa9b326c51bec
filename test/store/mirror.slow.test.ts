import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientResponse } from '../support/client.ts'
import { databaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { amplePlan, nextPage } from '../support/responses.ts'
import { type Server, serverFor } from '../support/servers.ts'

const crashes = 4
/** The writers leave little time for others on a busy machine. */
const busyMaxMs = 60_000
const writers = 50
const adminKey = 'the-admin-key-of-the-mirror-test'

type Thing = { id: number }
type Event = { id: number; type: string; data: Thing }

/** A mirror of pets, categories and orders, as in the guide. It continues after a crash of the service. */
class Mirror {
  readonly things: Record<string, Map<number, unknown>> = {
    pet: new Map(),
    category: new Map(),
    order: new Map(),
  }
  #after = 0
  #seen = 0
  readonly #get: (path: string) => Promise<ClientResponse>

  constructor(get: (path: string) => Promise<ClientResponse>) {
    this.#get = get
  }

  /** Reads the position before the lists, so that changes in between arrive through the feed. */
  async begin(): Promise<void> {
    this.#after = Number((await this.#get('/v1/events?limit=1')).headers['last-event-id'])
    for (const [kind, things] of Object.entries(await listAll(this.#get))) this.things[kind] = things
  }

  async follow(): Promise<number> {
    const events: Event[] = (await this.#get(`/v1/events?after=${this.#after}&limit=1000`)).json
    for (const { id, type, data } of events) {
      assert.equal(id, this.#after + 1, 'the feed has no gaps and does not go back')
      const [kind = '', what] = type.split('.')
      if (what === 'deleted') this.things[kind]?.delete(data.id)
      else this.things[kind]?.set(data.id, data)
      this.#after = id
    }
    this.#seen += events.length
    return events.length
  }

  get seen(): number {
    return this.#seen
  }
}

async function listAll(get: (path: string) => Promise<ClientResponse>) {
  const list = async (
    path: string,
    show: (thing: Thing & Record<string, unknown>) => unknown = (thing) => thing,
  ) => {
    const things = new Map<number, unknown>()
    for (let page: string | undefined = path; page; ) {
      const response: ClientResponse = await get(page)
      for (const thing of response.json) things.set(thing.id, show(thing))
      page = nextPage(response)
    }
    return things
  }
  return {
    pet: await list('/v1/pets?limit=100'),
    category: await list('/v1/categories?limit=100'),
    order: await list('/v1/store/orders?limit=100', ({ id, petId, status, cancelReason }) => ({
      id,
      petId,
      status,
      ...(cancelReason !== undefined && { cancelReason }),
    })),
  }
}

/** Writes until the connection breaks. Rejections are expected, because others write too. */
async function keepWriting(server: Server, key: string, writer: number): Promise<void> {
  const pick = <T>(list: readonly T[]) => list[Math.floor(Math.random() * list.length)] as T
  const send = (method: string, path: string, body?: unknown) => server.request(method, path, { key, body })
  for (;;) {
    const { json: pet } = await send('POST', '/v1/pets', {
      name: `${writer}`,
      categoryId: Math.floor(Math.random() * 60),
    })
    const status = pick(['available', 'pending', 'sold'])
    await send('PATCH', `/v1/pets/${pet.id}`, { name: `${writer}, again`, status })
    const { status: code, json: order } = await send('POST', '/v1/store/orders', { petId: pet.id })
    if (code === 201)
      await send('PATCH', `/v1/store/orders/${order.id}`, { status: pick(['approved', 'cancelled']) })
    await send('DELETE', `/v1/pets/${pick([pet.id, pet.id - 1, pet.id - 20])}`)
    const category = pick([1, 2, 3, pet.categoryId])
    await send('PATCH', `/v1/categories/${category}`, { name: `Category ${category} of ${writer}` })
    await send('DELETE', `/v1/categories/${category}`)
  }
}

test(`a mirror that follows the feed equals the database after ${crashes} crashes with ${writers} concurrent writers`, async (t) => {
  const env = { ...(await databaseFor(t)), PETSTORE_ADMIN_KEY: adminKey }
  let server = await serverFor(t, env)
  const made = await server.request('POST', '/v1/keys', {
    key: adminKey,
    body: { name: 'busy', ...amplePlan },
  })
  const key: string = made.json.key
  const mirror = new Mirror(async (path) => {
    const response = await server.request('GET', path, { key: adminKey })
    assert.equal(response.status, 200, response.text)
    return response
  })

  for (let round = 0; round <= crashes; round++) {
    const load = Array.from({ length: writers }, (_, writer) => keepWriting(server, key, writer))
    const settled = Promise.allSettled(load)
    // The mirror starts while writes are under way.
    if (round === 0) {
      await eventually(
        'work is under way',
        async () =>
          (await server.request('GET', '/v1/pets?limit=100', { key: adminKey })).json.length === 100,
        busyMaxMs,
      )
      await mirror.begin()
    }
    const before = mirror.seen
    await eventually(
      'the mirror follows',
      async () => {
        await mirror.follow()
        return mirror.seen > before + 200
      },
      busyMaxMs,
    )
    server.child.kill('SIGKILL')
    assert.equal((await server.ended).signal, 'SIGKILL')
    for (const { status, ...rest } of await settled) {
      assert.equal(status, 'rejected')
      const { reason } = rest as PromiseRejectedResult
      assert.match(String(reason.code), /^(?:ECONNRESET|ECONNREFUSED|EPIPE)$/, String(reason))
    }
    server.closeConnections()
    server = await serverFor(t, env)
  }

  while ((await mirror.follow()) > 0) {
    // Until the feed has no more events.
  }
  const listed = await listAll((path) => server.request('GET', path, { key: adminKey }))
  for (const [kind, things] of Object.entries(listed)) {
    const byId = (map: Map<number, unknown> | undefined) => [...(map ?? [])].sort(([a], [b]) => a - b)
    assert.deepEqual(byId(mirror.things[kind]), byId(things), kind)
    assert.ok(things.size > 0, `there is something of the kind ${kind}`)
  }
  t.diagnostic(`${mirror.seen} events, ${listed.pet.size} animals and ${listed.order.size} orders at the end`)
})
