import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ClientResponse } from '../support/client.ts'
import { type Event, eventCallsOf } from '../support/eventCalls.ts'
import { eventually } from '../support/eventually.ts'
import { amplePlan, assertError, nextPage } from '../support/responses.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const hour = 3_600_000
const day = 24 * hour

const service = useService({ PETSTORE_BAN_AFTER_REFUSALS: '3' })

const { send, done, newest, eventsAfter, contents, eventsDuring, addPet, placeOrder, moveOrder } =
  eventCallsOf(service)
/** The key as the operator sees it, without lastUsedAt, which events do not contain. */
const seenKey = async (id: number) => ({ ...(await send('GET', `/v1/keys/${id}`)).json, lastUsedAt: null })

describe('a change records exactly its events', () => {
  test('adding a pet', async () => {
    await addPet()
    let pet: unknown
    const events = await eventsDuring(async () => {
      pet = await addPet()
    })
    assert.deepEqual(events, [{ type: 'pet.created', data: pet }])
  })

  test('adding a pet of a new category: the event of the category comes first', async () => {
    let pet: unknown
    const events = await eventsDuring(async () => {
      pet = await addPet({ categoryId: 7_001 })
    })
    assert.deepEqual(events, [
      { type: 'category.created', data: { id: 7_001 } },
      { type: 'pet.created', data: pet },
    ])
  })

  for (const [name, change] of [
    ['name', { name: 'Otto' }],
    ['status', { status: 'sold' }],
    ['category', { categoryId: 4 }],
    ['everything', { name: 'Otto', status: 'pending', categoryId: 4 }],
  ] as const) {
    test(`changing the ${name} of a pet`, async () => {
      const pet = await addPet()
      await addPet({ categoryId: 4 })
      const events = await eventsDuring(() => done('PATCH', `/v1/pets/${pet.id}`, change))
      assert.deepEqual(events, [{ type: 'pet.updated', data: { ...pet, ...change } }])
    })
  }

  test('moving a pet to a new category', async () => {
    const pet = await addPet()
    const events = await eventsDuring(() => done('PATCH', `/v1/pets/${pet.id}`, { categoryId: 7_002 }))
    assert.deepEqual(events, [
      { type: 'category.created', data: { id: 7_002 } },
      { type: 'pet.updated', data: { ...pet, categoryId: 7_002 } },
    ])
  })

  test('removing a pet', async () => {
    const { id } = await addPet()
    const events = await eventsDuring(() => done('DELETE', `/v1/pets/${id}`))
    assert.deepEqual(events, [{ type: 'pet.deleted', data: { id } }])
  })

  test('adding, renaming, unnaming and removing a category', async () => {
    let id = 0
    const events = await eventsDuring(async () => {
      id = (await done('POST', '/v1/categories', { name: 'Rabbits' })).id
      await done('PATCH', `/v1/categories/${id}`, { name: 'Hares' })
      await done('PATCH', `/v1/categories/${id}`, { name: null })
      await done('DELETE', `/v1/categories/${id}`)
    })
    assert.deepEqual(events, [
      { type: 'category.created', data: { id, name: 'Rabbits' } },
      { type: 'category.updated', data: { id, name: 'Hares' } },
      { type: 'category.updated', data: { id } },
      { type: 'category.deleted', data: { id } },
    ])
  })

  test('placing, approving and delivering an order: no personal data, and the pet follows', async () => {
    const pet = await addPet()
    let id = 0
    const events = await eventsDuring(async () => {
      const customer = { name: 'Ada', email: 'ada@example.com' }
      id = (await done('POST', '/v1/store/orders', { petId: pet.id, customer, note: 'Call first' })).id
      await moveOrder(id, 'approved')
      await moveOrder(id, 'delivered')
    })
    assert.deepEqual(events, [
      { type: 'order.placed', data: { id, petId: pet.id, status: 'placed' } },
      { type: 'pet.updated', data: { ...pet, status: 'pending' } },
      { type: 'order.approved', data: { id, petId: pet.id, status: 'approved' } },
      { type: 'order.delivered', data: { id, petId: pet.id, status: 'delivered' } },
      { type: 'pet.updated', data: { ...pet, status: 'sold' } },
    ])
  })

  test('cancelling an order', async () => {
    const { pet, order } = await placeOrder()
    const events = await eventsDuring(() => moveOrder(order.id, 'cancelled'))
    assert.deepEqual(events, [
      { type: 'order.cancelled', data: { id: order.id, petId: pet.id, status: 'cancelled' } },
      { type: 'pet.updated', data: pet },
    ])
  })

  test('an expired hold', async () => {
    const { pet, order } = await placeOrder()
    const position = await newest()
    service.advance(72 * hour)
    const events = await eventually('the hold expires', async () => {
      const found = await eventsAfter(position)
      return found.length > 0 && found
    })
    assert.deepEqual(contents(events), [
      {
        type: 'order.cancelled',
        data: { id: order.id, petId: pet.id, status: 'cancelled', cancelReason: 'hold_expired' },
      },
      { type: 'pet.updated', data: pet },
    ])
  })

  test('creating, changing, rotating and revoking a key', async () => {
    const position = await newest()
    const { id, key } = await service.makeKey({ plan: 'pro' })
    const data = [await seenKey(id)]
    await done('PATCH', `/v1/keys/${id}`, { name: 'renamed' })
    data.push(await seenKey(id))
    const rotated = await done('POST', `/v1/keys/${id}/rotate`)
    data.push(await seenKey(id))
    await done('DELETE', `/v1/keys/${id}`)
    data.push(await seenKey(id))
    const types = ['key.created', 'key.updated', 'key.updated', 'key.revoked']
    const events = await eventsAfter(position)
    assert.deepEqual(
      contents(events),
      types.map((type, index) => ({ type, data: data[index] })),
    )
    assert.ok('revokedAt' in data[3])
    for (const secret of [key, rotated.key]) assert.ok(!JSON.stringify(events).includes(secret))
  })

  test('banning a key and lifting the ban', async () => {
    const { id, key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    const position = await newest()
    for (let i = 0; i < 4; i++) await send('GET', '/v1/pets', { key })
    const bannedUntil = new Date(service.now() + 5 * 60_000).toISOString()
    const [banned] = await eventually('the event of the ban', async () => {
      const found = await eventsAfter(position)
      return found.length > 0 && found
    })
    assert.deepEqual(contents([banned as Event]), [{ type: 'key.banned', data: { id, bannedUntil } }])
    const events = await eventsDuring(() => done('DELETE', `/v1/keys/${id}/ban`))
    assert.deepEqual(
      events.map(({ type }) => type),
      ['key.updated'],
    )
  })
})

describe('the feed', () => {
  test('an event has id, type, createdAt and data, and the operation is experimental', async () => {
    const position = await newest()
    const pet = await addPet()
    const response = await send('GET', `/v1/events?after=${position}`)
    assert.deepEqual(response.json, [
      { id: position + 1, type: 'pet.created', createdAt: new Date(service.now()).toISOString(), data: pet },
    ])
    assert.equal(response.headers['x-stability'], 'experimental')
    assert.equal((await send('GET', '/v1/events?limit=0')).headers['x-stability'], 'experimental')
  })

  test('64-bit ids are exact', async () => {
    const position = await newest()
    await send('POST', '/v1/pets', { body: '{"name":"Big","categoryId":9223372036854775807}' })
    const { text } = await send('GET', `/v1/events?after=${position}`)
    assert.match(text, /"data":\{"id":9223372036854775807\}/)
    assert.match(text, /"categoryId":9223372036854775807,/)
  })

  test('simultaneous changes record one event each, without gaps and in increasing order', async () => {
    const simultaneous = 60
    const position = await newest()
    const pets = await Promise.all(
      Array.from({ length: simultaneous }, (_, n) => addPet({ name: `Pet ${n}` })),
    )
    const events = await eventsAfter(position)
    assert.deepEqual(
      events.map(({ id }) => id),
      Array.from({ length: simultaneous }, (_, n) => position + 1 + n),
    )
    const byId = (a: { id: number }, b: { id: number }) => a.id - b.id
    assert.deepEqual(events.map(({ data }) => data as { id: number }).sort(byId), pets.sort(byId))
  })

  test('the pages contain every event once, oldest first, for any limit', async () => {
    const whole: Event[] = []
    for (let page: string | undefined = '/v1/events?limit=1000'; page; ) {
      const response: ClientResponse = await send('GET', page)
      whole.push(...response.json)
      page = nextPage(response)
    }
    for (const limit of [30, 100]) {
      const collected: Event[] = []
      let page: string | undefined = `/v1/events?limit=${limit}`
      while (page) {
        const response: ClientResponse = await send('GET', page)
        assert.ok(response.json.length <= limit)
        assert.equal(response.headers['last-event-id'], String(whole.at(-1)?.id))
        collected.push(...response.json)
        page = nextPage(response)
        if (page) assert.equal(page, `/v1/events?after=${collected.at(-1)?.id}&limit=${limit}`)
      }
      assert.deepEqual(collected, whole)
    }
    assert.ok(whole.every(({ id }, index) => id === index + 1))
  })

  test('a page has 100 events by default; the last page has no Link, and a page after the newest event is empty', async () => {
    const first = await send('GET', '/v1/events')
    assert.equal(first.json.length, 100)
    assert.ok(nextPage(first))
    const end = await newest()
    const last = await send('GET', `/v1/events?after=${end}`)
    assert.deepEqual({ json: last.json, link: last.headers.link }, { json: [], link: undefined })
    // A position after the newest event belongs to another feed.
    const beyond = await send('GET', `/v1/events?after=${end + 1}`)
    assert.deepEqual([beyond.status, beyond.json.code], [410, 'events_expired'])
    assert.equal(nextPage(await send('GET', `/v1/events?after=${end - 5}&limit=5`)), undefined)
    assert.ok(nextPage(await send('GET', `/v1/events?after=${end - 6}&limit=5`)))
  })
})

describe('access to events', () => {
  test('events about keys require keys:manage and are invisible to others', async () => {
    const { key } = await service.makeKey({ ...amplePlan, scopes: ['events:read'] })
    const position = await newest()
    const pets = []
    for (let n = 0; n < 3; n++) {
      await service.makeKey()
      pets.push(await addPet())
      await service.makeKey()
    }
    const page = async (query: string) => send('GET', `/v1/events?after=${position}${query}`, { key })
    const all = await page('')
    assert.deepEqual(
      contents(all.json),
      pets.map((data) => ({ type: 'pet.created', data })),
    )
    assert.equal(all.headers.link, undefined)
    const two = await page('&limit=2')
    assert.deepEqual(two.json, all.json.slice(0, 2))
    assert.deepEqual((await send('GET', nextPage(two) as string, { key })).json, all.json.slice(2))
    assert.equal((await eventsAfter(position)).length, 9)
  })
})

describe('events are stored for 30 days', () => {
  test('older events are pruned; an earlier position gets 410 with the oldest id', async () => {
    const quick = await startTestService({}, { bounds: { sweepMs: 10 } })
    try {
      const key = quick.operatorKey
      const get = (path: string, headers = {}) => quick.request('GET', path, { key, headers })
      const add = (name: string) => quick.request('POST', '/v1/pets', { key, body: { name, categoryId: 1 } })
      await add('first')
      const firstId = Number((await get('/v1/events')).headers['last-event-id'])
      quick.advance(1)
      await add('second')
      quick.advance(30 * day - 1)
      const rejected = await eventually('the first events are pruned', async () => {
        const response = await get('/v1/events?after=0')
        return response.status === 410 && response
      })
      assertError(rejected, 410, 'events_expired')
      assert.match(rejected.json.message, new RegExp(`the id ${firstId + 1}\\b.*after=${firstId}\\b`))
      assert.equal(nextPage(rejected), `/v1/events?after=${firstId}`)
      assertError(await get(`/v1/events?after=${firstId - 1}`), 410, 'events_expired')
      const stream = { accept: 'text/event-stream', 'last-event-id': String(firstId - 1) }
      assertError(await get('/v1/events', stream), 410, 'events_expired')

      for (const path of ['/v1/events', `/v1/events?after=${firstId}`, nextPage(rejected) as string]) {
        const { json } = await get(path)
        assert.deepEqual(contents(json), [
          { type: 'pet.created', data: { id: 2, name: 'second', categoryId: 1, status: 'available' } },
        ])
      }

      quick.advance(1)
      await eventually('the second is pruned', async () => (await get('/v1/events')).json.length === 0)
      assert.equal((await get('/v1/events')).headers['last-event-id'], String(firstId + 1))
      await quick.restart()
      await add('third')
      const [third] = (await get('/v1/events')).json
      assert.equal(third.id, firstId + 2, 'ids go on where they left off')
    } finally {
      await quick.stop()
    }
  })
})

test('a setting that changes the operator key records an event, and an unchanged one does not', async () => {
  const adminKey = 'the-first-key-that-the-operator-chose'
  const other = 'the-second-key-that-the-operator-chose'
  const own = await startTestService({ PETSTORE_ADMIN_KEY: adminKey })
  try {
    const types = async (key: string) =>
      (await own.request('GET', '/v1/events', { key })).json.map(({ type }: Event) => type)
    assert.deepEqual(await types(adminKey), ['key.created'])
    await own.restart()
    assert.deepEqual(await types(adminKey), ['key.created'])
    await own.restart({ PETSTORE_ADMIN_KEY: other })
    assert.deepEqual(await types(other), ['key.created', 'key.updated'])
  } finally {
    await own.stop()
  }
})
