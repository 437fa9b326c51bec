import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { amplePlan, assertAnswerForm, assertRefused, nextPage } from '../support/answers.ts'
import type { Answer, RequestOptions } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const hour = 3_600_000
const day = 24 * hour

type Told = { type: string; data: unknown }
type Event = Told & { id: number; createdAt: string }

const service = useService()
let ample: string
before(async () => {
  ample = (await service.makeKey(amplePlan)).key
})

async function ask(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const answer = await service.request(method, path, { key: service.operatorKey, ...options })
  assertAnswerForm(answer, method)
  return answer
}

/** A change that must succeed; answers its body. */
async function done(method: string, path: string, body?: unknown) {
  const answer = await ask(method, path, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, answer.text)
  return answer.json
}

const newest = async () => Number((await ask('GET', '/v1/events?limit=1')).headers['last-event-id'])
const eventsAfter = async (position: number): Promise<Event[]> =>
  (await ask('GET', `/v1/events?after=${position}&limit=1000`)).json
const told = (events: Event[]): Told[] => events.map(({ type, data }) => ({ type, data }))

/** What is told of while something is done. */
async function toldDuring(act: () => Promise<unknown>): Promise<Told[]> {
  const position = await newest()
  await act()
  return told(await eventsAfter(position))
}

const addPet = (more = {}) => done('POST', '/v1/pets', { name: 'Milo', categoryId: 3, ...more })
const placeOrder = async () => {
  const pet = await addPet()
  const order = await done('POST', '/v1/store/orders', {
    petId: pet.id,
    customer: { name: 'Ada', email: 'ada@example.com' },
    note: 'Likes rabbits',
  })
  return { pet, order }
}
const moveOrder = (id: number, status: string) => done('PATCH', `/v1/store/orders/${id}`, { status })
/** The key as its operator sees it; when it was last used is no part of a change. */
const seenKey = async (id: number) => ({ ...(await ask('GET', `/v1/keys/${id}`)).json, lastUsedAt: null })

describe('every change writes exactly its events', () => {
  test('an animal that is added', async () => {
    await addPet()
    let pet: unknown
    const events = await toldDuring(async () => {
      pet = await addPet()
    })
    assert.deepEqual(events, [{ type: 'pet.created', data: pet }])
  })

  test('an animal of a category that is new: the category comes first', async () => {
    let pet: unknown
    const events = await toldDuring(async () => {
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
    test(`an animal whose ${name} changes`, async () => {
      const pet = await addPet()
      await addPet({ categoryId: 4 })
      const events = await toldDuring(() => done('PATCH', `/v1/pets/${pet.id}`, change))
      assert.deepEqual(events, [{ type: 'pet.updated', data: { ...pet, ...change } }])
    })
  }

  test('an animal that moves into a new category', async () => {
    const pet = await addPet()
    const events = await toldDuring(() => done('PATCH', `/v1/pets/${pet.id}`, { categoryId: 7_002 }))
    assert.deepEqual(events, [
      { type: 'category.created', data: { id: 7_002 } },
      { type: 'pet.updated', data: { ...pet, categoryId: 7_002 } },
    ])
  })

  test('an animal that is removed', async () => {
    const { id } = await addPet()
    const events = await toldDuring(() => done('DELETE', `/v1/pets/${id}`))
    assert.deepEqual(events, [{ type: 'pet.deleted', data: { id } }])
  })

  test('a category that is added, named anew, unnamed and removed', async () => {
    let id = 0
    const events = await toldDuring(async () => {
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

  test('an order that is placed, approved and delivered: nothing personal, and the animal follows', async () => {
    const pet = await addPet()
    let id = 0
    const events = await toldDuring(async () => {
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

  test('an order that is cancelled', async () => {
    const { pet, order } = await placeOrder()
    const events = await toldDuring(() => moveOrder(order.id, 'cancelled'))
    assert.deepEqual(events, [
      { type: 'order.cancelled', data: { id: order.id, petId: pet.id, status: 'cancelled' } },
      { type: 'pet.updated', data: pet },
    ])
  })

  test('a hold that runs out', async () => {
    const { pet, order } = await placeOrder()
    const position = await newest()
    service.advance(72 * hour)
    const events = await eventually('the hold lapses', async () => {
      const found = await eventsAfter(position)
      return found.length > 0 && found
    })
    assert.deepEqual(told(events), [
      {
        type: 'order.cancelled',
        data: { id: order.id, petId: pet.id, status: 'cancelled', cancelReason: 'hold_expired' },
      },
      { type: 'pet.updated', data: pet },
    ])
  })

  test('a key that is made, changed, rotated and revoked', async () => {
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
      told(events),
      types.map((type, index) => ({ type, data: data[index] })),
    )
    assert.ok('revokedAt' in data[3])
    for (const secret of [key, rotated.key]) assert.ok(!JSON.stringify(events).includes(secret))
  })

  test('a key that is banned, and whose ban is lifted', async () => {
    const { id, key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    const position = await newest()
    for (let i = 0; i < 101; i++) await ask('GET', '/v1/pets', { key })
    const bannedUntil = new Date(service.now() + 5 * 60_000).toISOString()
    const [banned] = await eventually('the ban is told of', async () => {
      const found = await eventsAfter(position)
      return found.length > 0 && found
    })
    assert.deepEqual(told([banned as Event]), [{ type: 'key.banned', data: { id, bannedUntil } }])
    const events = await toldDuring(() => done('DELETE', `/v1/keys/${id}/ban`))
    assert.deepEqual(
      events.map(({ type }) => type),
      ['key.updated'],
    )
  })
})

describe('nothing is told of what changes nothing', () => {
  const quiet: [string, () => Promise<() => Promise<unknown>>][] = [
    [
      'an animal that stays as it is',
      async () => {
        const { id, name, status, categoryId } = await addPet()
        return () => done('PATCH', `/v1/pets/${id}`, { name, status, categoryId })
      },
    ],
    [
      'an empty change of an animal',
      async () => {
        const { id } = await addPet()
        return () => done('PATCH', `/v1/pets/${id}`, {})
      },
    ],
    [
      'a category that keeps its name',
      async () => {
        const { id, name } = await done('POST', '/v1/categories', { name: 'Cats' })
        return () => done('PATCH', `/v1/categories/${id}`, { name })
      },
    ],
    [
      'an order that has the status already',
      async () => {
        const { order } = await placeOrder()
        return () => moveOrder(order.id, 'placed')
      },
    ],
    [
      'a key that keeps its settings',
      async () => {
        const { id } = await service.makeKey({ plan: 'pro' })
        return () => done('PATCH', `/v1/keys/${id}`, { plan: 'pro' })
      },
    ],
    [
      'a key that was revoked before',
      async () => {
        const { id } = await service.makeKey()
        await done('DELETE', `/v1/keys/${id}`)
        return () => done('DELETE', `/v1/keys/${id}`)
      },
    ],
    [
      'a request that is repeated with its Idempotency-Key',
      async () => {
        const again = () =>
          ask('POST', '/v1/pets', {
            body: { name: 'Milo', categoryId: 3 },
            headers: { 'idempotency-key': 'told-once' },
          })
        await again()
        return async () => assert.equal((await again()).headers['idempotent-replayed'], 'true')
      },
    ],
    [
      'reading',
      async () => () =>
        Promise.all(['pets', 'categories', 'keys', 'events'].map((path) => done('GET', `/v1/${path}`))),
    ],
  ]
  for (const [name, prepare] of quiet) {
    test(name, async () => {
      const act = await prepare()
      assert.deepEqual(await toldDuring(act), [])
    })
  }

  const refused: [string, () => Promise<[string, string, RequestOptions, number]>][] = [
    ['invalid input', async () => ['POST', '/v1/pets', { body: { name: '', categoryId: 7_100 } }, 400]],
    ['an unknown animal', async () => ['PATCH', '/v1/pets/999999', { body: { name: 'x' } }, 404]],
    [
      'an animal that has changed meanwhile',
      async () => {
        const { id } = await addPet()
        const body = { name: 'x', categoryId: 7_101 }
        return ['PATCH', `/v1/pets/${id}`, { body, headers: { 'if-match': '"other"' } }, 412]
      },
    ],
    [
      'an animal that cannot become what is asked for, in a category that would be new',
      async () => {
        const { id } = await addPet({ status: 'sold' })
        return ['PATCH', `/v1/pets/${id}`, { body: { status: 'pending', categoryId: 7_102 } }, 409]
      },
    ],
    [
      'an animal with an open order',
      async () => {
        const { pet } = await placeOrder()
        return ['DELETE', `/v1/pets/${pet.id}`, {}, 409]
      },
    ],
    [
      'an animal that is taken',
      async () => {
        const { pet } = await placeOrder()
        return ['POST', '/v1/store/orders', { body: { petId: pet.id } }, 409]
      },
    ],
    [
      'a step that an order cannot take',
      async () => {
        const { order } = await placeOrder()
        return ['PATCH', `/v1/store/orders/${order.id}`, { body: { status: 'delivered' } }, 409]
      },
    ],
    [
      'a category in use',
      async () => {
        await addPet()
        return ['DELETE', '/v1/categories/3', {}, 409]
      },
    ],
    [
      'a key that contradicts itself',
      async () => ['POST', '/v1/keys', { body: { name: 'x', limits: { perMinute: 1 } } }, 400],
    ],
    ['a missing scope', async () => ['POST', '/v1/keys', { key: ample, body: { name: 'x' } }, 403]],
    ['no key', async () => ['POST', '/v1/pets', { key: undefined, body: { name: 'x', categoryId: 3 } }, 401]],
  ]
  for (const [name, prepare] of refused) {
    test(`a refusal: ${name}`, async () => {
      const [method, path, options, status] = await prepare()
      const events = await toldDuring(async () =>
        assert.equal((await ask(method, path, options)).status, status),
      )
      assert.deepEqual(events, [])
    })
  }
})

describe('the feed', () => {
  test('an event is id, type, createdAt and data, and says it is experimental', async () => {
    const position = await newest()
    const pet = await addPet()
    const answer = await ask('GET', `/v1/events?after=${position}`)
    assert.deepEqual(answer.json, [
      { id: position + 1, type: 'pet.created', createdAt: new Date(service.now()).toISOString(), data: pet },
    ])
    assert.equal(answer.headers['x-stability'], 'experimental')
    assert.equal((await ask('GET', '/v1/events?limit=0')).headers['x-stability'], 'experimental')
  })

  test('ids of 64 bits are exact', async () => {
    const position = await newest()
    await ask('POST', '/v1/pets', { body: '{"name":"Big","categoryId":9223372036854775807}' })
    const { text } = await ask('GET', `/v1/events?after=${position}`)
    assert.match(text, /"data":\{"id":9223372036854775807\}/)
    assert.match(text, /"categoryId":9223372036854775807,/)
  })

  test('simultaneous changes are each told of once, without gaps, in rising order', async () => {
    const position = await newest()
    const pets = await Promise.all(Array.from({ length: 200 }, (_, n) => addPet({ name: `Pet ${n}` })))
    const events = await eventsAfter(position)
    assert.deepEqual(
      events.map(({ id }) => id),
      Array.from({ length: 200 }, (_, n) => position + 1 + n),
    )
    const byId = (a: { id: number }, b: { id: number }) => a.id - b.id
    assert.deepEqual(events.map(({ data }) => data as { id: number }).sort(byId), pets.sort(byId))
  })

  test('walking the pages shows every event once, oldest first, whatever the limit', async () => {
    const whole: Event[] = []
    for (let page: string | undefined = '/v1/events?limit=1000'; page; ) {
      const answer: Answer = await ask('GET', page)
      whole.push(...answer.json)
      page = nextPage(answer)
    }
    for (const limit of [7, 100]) {
      const walked: Event[] = []
      let page: string | undefined = `/v1/events?limit=${limit}`
      while (page) {
        const answer: Answer = await ask('GET', page)
        assert.ok(answer.json.length <= limit)
        assert.equal(answer.headers['last-event-id'], String(whole.at(-1)?.id))
        walked.push(...answer.json)
        page = nextPage(answer)
        if (page) assert.equal(page, `/v1/events?after=${walked.at(-1)?.id}&limit=${limit}`)
      }
      assert.deepEqual(walked, whole)
    }
    assert.ok(whole.every(({ id }, index) => id === index + 1))
  })

  test('a page has 100 unless asked otherwise; the last page has no Link, and a position at the end is empty', async () => {
    const first = await ask('GET', '/v1/events')
    assert.equal(first.json.length, 100)
    assert.ok(nextPage(first))
    const end = await newest()
    const last = await ask('GET', `/v1/events?after=${end}`)
    assert.deepEqual({ json: last.json, link: last.headers.link }, { json: [], link: undefined })
    // Nobody can have seen an event that is yet to come: such a position is of another feed.
    const beyond = await ask('GET', `/v1/events?after=${end + 1}`)
    assert.deepEqual([beyond.status, beyond.json.code], [410, 'events_expired'])
    assert.equal(nextPage(await ask('GET', `/v1/events?after=${end - 5}&limit=5`)), undefined)
    assert.ok(nextPage(await ask('GET', `/v1/events?after=${end - 6}&limit=5`)))
  })

  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=x',
    'limit=1&limit=2',
    'after=-1',
    'after=x',
    'after=1.5',
    'after=',
  ]) {
    test(`?${query} is refused`, async () => {
      assertRefused(await ask('GET', `/v1/events?${query}`), 400, 'validation_failed')
    })
  }

  test('HEAD tells the position', async () => {
    const answer = await ask('HEAD', '/v1/events?limit=1')
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['last-event-id'], String(await newest()))
  })
})

describe('who may follow', () => {
  test('a key without events:read is refused', async () => {
    const { key } = await service.makeKey()
    assertRefused(await ask('GET', '/v1/events', { key }), 403, 'insufficient_scope')
  })

  test('events of keys are for keys:manage alone, and leave no trace in the pages of others', async () => {
    const { key } = await service.makeKey({ ...amplePlan, scopes: ['events:read'] })
    const position = await newest()
    const pets = []
    for (let n = 0; n < 3; n++) {
      await service.makeKey()
      pets.push(await addPet())
      await service.makeKey()
    }
    const page = async (query: string) => ask('GET', `/v1/events?after=${position}${query}`, { key })
    const all = await page('')
    assert.deepEqual(
      told(all.json),
      pets.map((data) => ({ type: 'pet.created', data })),
    )
    assert.equal(all.headers.link, undefined)
    const two = await page('&limit=2')
    assert.deepEqual(two.json, all.json.slice(0, 2))
    assert.deepEqual((await ask('GET', nextPage(two) as string, { key })).json, all.json.slice(2))
    assert.equal((await eventsAfter(position)).length, 9)
  })
})

describe('events are kept 30 days', () => {
  test('older ones are let go; a position before them gets 410 with the oldest id', async () => {
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
      const refused = await eventually('the first events are let go', async () => {
        const answer = await get('/v1/events?after=0')
        return answer.status === 410 && answer
      })
      assertRefused(refused, 410, 'events_expired')
      assert.match(refused.json.message, new RegExp(`the id ${firstId + 1}\\b.*after=${firstId}\\b`))
      assert.equal(nextPage(refused), `/v1/events?after=${firstId}`)
      assertRefused(await get(`/v1/events?after=${firstId - 1}`), 410, 'events_expired')
      const stream = { accept: 'text/event-stream', 'last-event-id': String(firstId - 1) }
      assertRefused(await get('/v1/events', stream), 410, 'events_expired')

      for (const path of ['/v1/events', `/v1/events?after=${firstId}`, nextPage(refused) as string]) {
        const { json } = await get(path)
        assert.deepEqual(told(json), [
          { type: 'pet.created', data: { id: 2, name: 'second', categoryId: 1, status: 'available' } },
        ])
      }

      quick.advance(1)
      await eventually('the second is let go', async () => (await get('/v1/events')).json.length === 0)
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

test('a setting that changes the operator key is told of, and one that changes nothing is not', async () => {
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
