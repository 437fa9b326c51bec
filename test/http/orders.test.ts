import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { timestamp } from '../../src/clock.ts'
import { orderStatuses } from '../../src/orders/order.ts'
import { type OrderClient, startOrderClient } from '../support/orderClient.ts'
import { amplePlan, assertError, nextPage } from '../support/responses.ts'

let orderClient: OrderClient
before(async () => {
  orderClient = await startOrderClient()
})
after(() => orderClient.service.stop())

const post = (body: unknown, headers: Record<string, string> = {}) =>
  orderClient.call('POST', '/v1/store/orders', { body, headers })

describe('createOrder', () => {
  test('is stable: its responses have no X-Stability header', async () => {
    assert.equal((await post({ petId: await orderClient.addPet() })).headers['x-stability'], undefined)
  })

  const accepted: [what: string, fields: string, shown: Record<string, unknown>][] = [
    ['a customer without an address', '"customer":{"name":"Ada"}', { customer: { name: 'Ada' } }],
    [
      'the longest name, in emoji',
      `"customer":{"name":"${'🐕'.repeat(255)}"}`,
      { customer: { name: '🐕'.repeat(255) } },
    ],
    ['the longest note, in emoji', `"note":"${'🐕'.repeat(1000)}"`, { note: '🐕'.repeat(1000) }],
    ['an empty note', '"note":""', { note: '' }],
    ['odd characters', '"note":"\\u2028\\"\\\\ Ł"', { note: '\u2028"\\ Ł' }],
    ['unknown and read-only fields, which are passed over', '"id":1,"status":"delivered","x":{}', {}],
    [
      'unknown fields of the customer, and does not store them',
      '"customer":{"name":"Ada","phone":"5"}',
      { customer: { name: 'Ada' } },
    ],
  ]
  for (const [what, fields, shown] of accepted) {
    test(`accepts ${what}`, async () => {
      const petId = await orderClient.addPet()
      const placed = await post(`{"petId":${petId},${fields}}`)
      assert.equal(placed.status, 201, placed.text)
      const { id: _id, placedAt: _p, updatedAt: _u, holdExpiresAt: _h, ...rest } = placed.json
      assert.deepEqual(rest, { petId, status: 'placed', ...shown })
      assert.equal((await orderClient.call('GET', `/v1/store/orders/${placed.json.id}`)).text, placed.text)
    })
  }

  const rejected: [what: string, fields: string, path: string][] = [
    ['no petId', '"note":"x"', '/petId'],
    ['a petId in quotes', '"petId":"3"', '/petId'],
    ['half a pet', '"petId":3.5', '/petId'],
    ['a petId beyond int64', '"petId":9223372036854775808', '/petId'],
    ['a customer that is null', '"petId":PET,"customer":null', '/customer'],
    ['a customer without a name', '"petId":PET,"customer":{}', '/customer/name'],
    ['a blank name', '"petId":PET,"customer":{"name":" "}', '/customer/name'],
    ['a name of 256 characters', `"petId":PET,"customer":{"name":"${'a'.repeat(256)}"}`, '/customer/name'],
    ['an address that is none', '"petId":PET,"customer":{"name":"Ada","email":"ada"}', '/customer/email'],
    [
      'an address that is too long',
      `"petId":PET,"customer":{"name":"Ada","email":"a@${'b.'.repeat(160)}example"}`,
      '/customer/email',
    ],
    ['a note that is null', '"petId":PET,"note":null', '/note'],
    ['a note of 1,001 characters', `"petId":PET,"note":"${'a'.repeat(1001)}"`, '/note'],
  ]
  for (const [what, fields, path] of rejected) {
    test(`rejects ${what} and leaves the pet available`, async () => {
      const petId = await orderClient.addPet()
      const response = await post(`{${fields.replace('PET', String(petId))}}`)
      assertError(response, 400, 'validation_failed')
      assert.deepEqual(
        response.json.details.map((detail: { path: string }) => detail.path),
        [path],
      )
      assert.equal(await orderClient.petStatus(petId), 'available')
    })
  }

  test('takes no field from the body that only the service sets', async () => {
    const petId = await orderClient.addPet()
    const own = {
      id: 999_999,
      status: 'delivered',
      placedAt: '2020-01-01T00:00:00.000Z',
      holdExpiresAt: null,
    }
    const { status, json } = await post({ petId, ...own })
    assert.equal(status, 201)
    for (const [name, value] of Object.entries(own)) {
      assert.ok(name in json, name)
      assert.notEqual(json[name], value, name)
    }
  })

  test('suggests the correct field name with Prefer: handling=strict', async () => {
    const body = { petId: await orderClient.addPet(), customer: { name: 'Ada', mail: 'a@example.com' } }
    const response = await post(body, { prefer: 'handling=strict' })
    assertError(response, 400, 'validation_failed')
    assert.equal(response.json.details[0].path, '/customer/mail')
  })
})

describe('updateOrder', () => {
  const petStatusWith = { placed: 'pending', approved: 'pending', delivered: 'sold', cancelled: 'available' }
  const legal = ['placed>approved', 'placed>cancelled', 'approved>delivered', 'approved>cancelled']
  for (const from of orderStatuses) {
    for (const to of orderStatuses) {
      const isChange = legal.includes(`${from}>${to}`)
      const outcome = isChange ? 'is done' : from === to ? 'changes nothing' : 'is rejected'
      test(`${from} to ${to} ${outcome}, and the status of the pet follows`, async () => {
        const { petId, orderId } = await orderClient.orderThatIs(from)
        const before = await orderClient.read(orderId)
        const newest = await orderClient.newestEventId()
        orderClient.service.advance(1_000)
        const response = await orderClient.move(orderId, to)
        const events = await orderClient.eventsAfter(newest)
        if (!isChange && from !== to) assertError(response, 409, 'illegal_transition')
        else assert.equal(response.status, 200, response.text)
        assert.equal(await orderClient.petStatus(petId), petStatusWith[isChange ? to : from])
        if (!isChange) {
          assert.deepEqual(await orderClient.read(orderId), before)
          assert.deepEqual(events, [])
          return
        }
        const { holdExpiresAt: _none, ...rest } = before
        assert.deepEqual(response.json, {
          ...rest,
          status: to,
          updatedAt: timestamp(orderClient.service.now()),
        })
        assert.deepEqual(await orderClient.read(orderId), response.json)
        assert.deepEqual(
          events.map(({ type, data }) => [type, data.id, data.status]),
          [
            [`order.${to}`, orderId, to],
            ...(to === 'approved' ? [] : [['pet.updated', petId, petStatusWith[to]]]),
          ],
        )
      })
    }
  }

  const badBodies: [body: string, code: string][] = [
    ['', 'malformed_json'],
    ['{}', 'validation_failed'],
    ['{"status":null}', 'validation_failed'],
    ['{"status":"lapsed"}', 'validation_failed'],
    ['{"status":1}', 'validation_failed'],
    ['[]', 'validation_failed'],
  ]
  for (const [body, code] of badBodies) {
    test(`rejects ${body || 'no body'}`, async () => {
      const { orderId } = await orderClient.orderThatIs('placed')
      assertError(await orderClient.call('PATCH', `/v1/store/orders/${orderId}`, { body }), 400, code)
      assert.equal((await orderClient.read(orderId)).status, 'placed')
    })
  }
})

describe('an unknown order', () => {
  for (const id of ['999999', '0', '-1', 'abc', '1.5', '9007199254740993', '9223372036854775808']) {
    test(`is not found: ${id}`, async () => {
      const path = `/v1/store/orders/${id}`
      assertError(await orderClient.call('GET', path), 404, 'order_not_found')
      assertError(
        await orderClient.call('PATCH', path, { body: { status: 'approved' } }),
        404,
        'order_not_found',
      )
      assertError(await orderClient.call('DELETE', `${path}/customer`), 404, 'order_not_found')
    })
  }
})

describe('listOrders', () => {
  const badQueries: [query: string, code: string][] = [
    ...['0', '101', 'abc', '1.5', '%2B5', ''].map((limit): [string, string] => [
      `limit=${limit}`,
      'validation_failed',
    ]),
    ['status=lapsed', 'validation_failed'],
    ['status=', 'validation_failed'],
    ['status=placed&status=placed', 'validation_failed'],
    ['petId=abc', 'validation_failed'],
    ['petId=9223372036854775808', 'validation_failed'],
    ['petId=1&petId=2', 'validation_failed'],
    ['cursor=nonsense', 'invalid_cursor'],
    ['cursor=', 'invalid_cursor'],
  ]
  for (const [query, code] of badQueries) {
    test(`rejects ${query}`, async () => {
      assertError(await orderClient.call('GET', `/v1/store/orders?${query}`), 400, code)
    })
  }

  test('a cursor contains its filters and is rejected with other filters, damaged or from another list', async () => {
    const { petId } = await orderClient.orderThatIs('cancelled')
    await orderClient.move((await orderClient.place(petId)).id, 'cancelled')
    const first = await orderClient.call('GET', `/v1/store/orders?limit=1&status=cancelled&petId=${petId}`)
    const next = new URL(String(nextPage(first)), orderClient.service.base)
    const cursor = next.searchParams.get('cursor') as string
    const rest = (await orderClient.call('GET', `/v1/store/orders?cursor=${cursor}`)).json
    assert.equal(rest.length, 1, 'the filters of the cursor apply')
    assert.equal(rest[0].petId, petId)
    for (const query of [
      `cursor=${cursor}&status=placed`,
      `cursor=${cursor}&petId=${petId + 1}`,
      `cursor=${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`,
      `cursor=${cursor.slice(1)}`,
    ])
      assertError(await orderClient.call('GET', `/v1/store/orders?${query}`), 400, 'invalid_cursor')
    assertError(await orderClient.call('GET', `/v1/pets?cursor=${cursor}`), 400, 'invalid_cursor')
  })
})

test('reading and writing orders require different scopes', async () => {
  const { petId, orderId } = await orderClient.orderThatIs('cancelled')
  const { key: reader } = await orderClient.service.makeKey({
    ...amplePlan,
    scopes: ['orders:read', 'pets:write'],
  })
  const { key: writer } = await orderClient.service.makeKey({ ...amplePlan, scopes: ['orders:write'] })
  const operations: [method: string, path: string, body: unknown, isRead: boolean, status: number][] = [
    ['GET', '/v1/store/orders', undefined, true, 200],
    ['GET', `/v1/store/orders/${orderId}`, undefined, true, 200],
    ['POST', '/v1/store/orders', { petId }, false, 201],
    ['PATCH', `/v1/store/orders/${orderId}`, { status: 'cancelled' }, false, 200],
    ['DELETE', `/v1/store/orders/${orderId}/customer`, undefined, false, 204],
  ]
  for (const [method, path, body, isRead, status] of operations) {
    const options = body === undefined ? {} : { body }
    const [may, mayNot] = isRead ? [reader, writer] : [writer, reader]
    assertError(await orderClient.call(method, path, { key: mayNot, ...options }), 403, 'insufficient_scope')
    assertError(await orderClient.call(method, path, { key: undefined, ...options }), 401, 'missing_api_key')
    assert.equal((await orderClient.call(method, path, { key: may, ...options })).status, status)
  }
})

test('the customer appears in no event and no log line', async () => {
  const petId = await orderClient.addPet()
  const secrets = ['Grace Secretive', 'grace.secretive@example.com', 'SECRET-NOTE', 'Bad Mannered']
  const [name, email, note, badName] = secrets as [string, string, string, string]
  const newest = await orderClient.newestEventId()
  const body = { petId, customer: { name, email }, note }
  const { id } = (await post(body, { 'idempotency-key': 'personal' })).json
  await post(body, { 'idempotency-key': 'personal' })
  await post(body)
  await post({ petId, customer: { name: badName, email: badName }, note })
  await post(`{"petId":${petId},"note":"${note}"`)
  await orderClient.move(id, 'approved')
  await orderClient.move(id, 'placed')
  await orderClient.move(id, 'cancelled')
  const events = (await orderClient.eventsAfter(newest)).filter(({ type }) => type.startsWith('order.'))
  assert.deepEqual(
    events.map(({ type, data }) => [type, data]),
    ['placed', 'approved', 'cancelled'].map((status) => [`order.${status}`, { id, petId, status }]),
  )
  const output = JSON.stringify(await orderClient.eventsAfter(0)) + orderClient.service.logLines.join('\n')
  assert.ok(output.includes('"createOrder"'), 'the log was captured')
  for (const secret of secrets) assert.ok(!output.includes(secret), `${secret} was exposed`)
})
