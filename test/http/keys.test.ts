import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { useService } from '../support/useService.ts'

const service = useService({ PETSTORE_BAN_AFTER_REFUSALS: '3' })

const manage = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  service.request(method, `/v1/keys${path}`, { key: service.operatorKey, headers, body })
const use = (key: string) => service.request('GET', '/v1/pets', { key })
const timestamp = (ms: number) => new Date(ms).toISOString()

describe('the keys resource', () => {
  for (const [sent, shown] of [
    ['2099-01-31T12:00:00+00:00', '2099-01-31T12:00:00.000Z'],
    ['2099-01-31T12:00:00.123456-00:00', '2099-01-31T12:00:00.123Z'],
    ['2099-01-31T12:00:00+05:30', '2099-01-31T06:30:00.000Z'],
    ['2099-01-31t12:00:00z', '2099-01-31T12:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ] as const) {
    test(`an expiry can be any RFC 3339 time and is shown in UTC: ${sent}`, async () => {
      const made = await manage('POST', '', { name: 'test', expiresAt: sent })
      assert.equal(made.status, 201, made.text)
      assert.equal(made.json.expiresAt, shown)
      const { id } = await service.makeKey()
      assert.equal((await manage('PATCH', `/${id}`, { expiresAt: sent })).json.expiresAt, shown)
      assert.equal((await manage('GET', `/${id}`)).json.expiresAt, shown)
    })
  }

  test('an expired key can be renamed without a new expiry', async () => {
    const { id } = await service.makeKey({ expiresAt: timestamp(service.now() + 1_000) })
    service.advance(2_000)
    assert.equal((await manage('PATCH', `/${id}`, { name: 'old' })).status, 200)
  })

  test('an enterprise key has the default limits 10,000 and 1,000,000, and loses its limits when it changes the plan', async () => {
    const { id, key } = await service.makeKey({ plan: 'enterprise' })
    const windows = async () => {
      const { json } = await service.request('GET', '/v1/limits', { key })
      return [json.plan, json.minute.limit, json.day.limit]
    }
    assert.deepEqual(await windows(), ['enterprise', 10_000, 1_000_000])
    await manage('PATCH', `/${id}`, { limits: { perDay: 7 } })
    assert.deepEqual(await windows(), ['enterprise', 10_000, 7])
    await manage('PATCH', `/${id}`, { limits: { perMinute: 3 } })
    assert.deepEqual(await windows(), ['enterprise', 3, 1_000_000])
    await manage('PATCH', `/${id}`, { plan: 'business' })
    assert.deepEqual(await windows(), ['business', 1_000, 100_000])
    assert.ok(!('limits' in (await manage('GET', `/${id}`)).json))
    await manage('PATCH', `/${id}`, { plan: 'enterprise', limits: { streams: 9 } })
    assert.deepEqual((await manage('GET', `/${id}`)).json.limits, { streams: 9 })
    assert.deepEqual(await windows(), ['enterprise', 10_000, 1_000_000])
    await manage('PATCH', `/${id}`, { plan: 'business' })
    await manage('PATCH', `/${id}`, { plan: 'enterprise' })
    assert.deepEqual(await windows(), ['enterprise', 10_000, 1_000_000])
    await manage('PATCH', `/${id}`, { limits: { perMinute: 3 } })
    await manage('PATCH', `/${id}`, { limits: null })
    assert.deepEqual(await windows(), ['enterprise', 10_000, 1_000_000])
  })

  const operations = [
    { method: 'GET', path: '' },
    { method: 'PATCH', path: '', body: { name: 'new' } },
    { method: 'DELETE', path: '' },
    { method: 'POST', path: '/rotate' },
    { method: 'DELETE', path: '/ban' },
  ]
  for (const { method, path, body } of operations) {
    test(`${method} /keys/{keyId}${path} of an unknown key is 404`, async () => {
      for (const id of ['999999', '0', '-1', 'abc', '1.5', '9223372036854775807', '9223372036854775808']) {
        const response = await manage(method, `/${id}${path}`, body)
        assert.equal(response.status, 404)
        assert.equal(response.json.code, 'key_not_found')
      }
    })
  }
})

describe('invalid keys', () => {
  const future = '2099-01-01T00:00:00Z'
  const origins = (...list: string[]) => ({ origins: list, scopes: ['pets:read'] })
  const scenarios: { name: string; settings: Record<string, unknown>; path: string; isMakeOnly?: true }[] = [
    { name: 'nameless', settings: { name: undefined }, path: '/name', isMakeOnly: true },
    { name: 'empty of name', settings: { name: '' }, path: '/name' },
    { name: 'blank of name', settings: { name: ' \t ' }, path: '/name' },
    { name: 'named by a number', settings: { name: 5 }, path: '/name' },
    { name: 'named with 101 characters', settings: { name: '😺'.repeat(101) }, path: '/name' },
    { name: 'of an unknown plan', settings: { plan: 'gold' }, path: '/plan' },
    { name: 'of no plan', settings: { plan: null }, path: '/plan' },
    { name: 'free with limits', settings: { plan: 'free', limits: { perMinute: 100 } }, path: '/limits' },
    { name: 'pro with limits', settings: { plan: 'pro', limits: { perDay: 100 } }, path: '/limits' },
    { name: 'business with limits', settings: { plan: 'business', limits: {} }, path: '/limits' },
    ...[0, -1, 1.5, '5', null, 1_000_000_001].map((perMinute) => ({
      name: `limited to ${JSON.stringify(perMinute)}`,
      settings: { plan: 'enterprise', limits: { perMinute } },
      path: '/limits/perMinute',
    })),
    ...[0, -1, 1.5, '5', null, 10_001].map((streams) => ({
      name: `limited to ${JSON.stringify(streams)} streams`,
      settings: { plan: 'enterprise', limits: { streams } },
      path: '/limits/streams',
    })),
    { name: 'pro with streams', settings: { plan: 'pro', limits: { streams: 20 } }, path: '/limits' },
    {
      name: 'limited to no day',
      settings: { plan: 'enterprise', limits: { perDay: 0 } },
      path: '/limits/perDay',
    },
    { name: 'of an unknown scope', settings: { scopes: ['pets:read', 'pets:fly'] }, path: '/scopes/1' },
    { name: 'of one scope that is no list', settings: { scopes: 'pets:read' }, path: '/scopes' },
    ...['pets:write', 'orders:write', 'webhooks:manage', 'metrics:read', 'keys:manage'].map((scope) => ({
      name: `publishable with ${scope}`,
      settings: { origins: ['https://shelter.example'], scopes: ['pets:read', scope] },
      path: '/scopes',
    })),
    ...[
      '*',
      'null',
      '',
      'shelter.example',
      'https://shelter.example/',
      'https://shelter.example/path',
      'https://shelter.example?q',
      'https://SHELTER.example',
      'https://shelter.example:443',
      'https://user@shelter.example',
      'https://*.example',
      'https://*',
      'http://shelter*.example:8080',
      'ftp://shelter.example',
      'file:///',
    ].map((origin) => ({
      name: `locked to ${JSON.stringify(origin)}`,
      settings: origins('https://good.example', origin),
      path: '/origins/1',
    })),
    {
      name: 'locked to 21 origins',
      settings: origins(...Array.from({ length: 21 }, (_, number) => `https://o${number}.example`)),
      path: '/origins',
    },
    { name: 'expired long ago', settings: { expiresAt: '2020-01-01T00:00:00Z' }, path: '/expiresAt' },
    { name: 'expiring at no date', settings: { expiresAt: 'tomorrow' }, path: '/expiresAt' },
    {
      name: 'expiring on a day that is none',
      settings: { expiresAt: '2099-02-30T00:00:00Z' },
      path: '/expiresAt',
    },
    {
      name: 'expiring at an offset that is none',
      settings: { expiresAt: '2099-01-31T00:00:00+24:00' },
      path: '/expiresAt',
    },
    {
      name: 'expiring later than can be shown',
      settings: { expiresAt: '9999-12-31T23:59:59-01:00' },
      path: '/expiresAt',
    },
    { name: 'expiring in the year 0', settings: { expiresAt: '0000-01-01T00:00:00Z' }, path: '/expiresAt' },
    {
      name: 'expiring at a time with a space in it',
      settings: { expiresAt: '2099-01-31 12:00:00Z' },
      path: '/expiresAt',
    },
    { name: 'expiring without a zone', settings: { expiresAt: future.slice(0, -1) }, path: '/expiresAt' },
    { name: 'expiring at a number', settings: { expiresAt: 4_000_000_000 }, path: '/expiresAt' },
  ]

  for (const { name, settings, path, isMakeOnly } of scenarios) {
    test(`rejected with 400: ${name}`, async () => {
      const { id } = await service.makeKey()
      const responses = [await manage('POST', '', { name: 'test', ...settings })]
      if (!isMakeOnly) responses.push(await manage('PATCH', `/${id}`, settings))
      for (const response of responses) {
        assert.equal(response.status, 400)
        assert.equal(response.json.code, 'validation_failed')
        assert.deepEqual(
          response.json.details.map((detail: { path: string }) => detail.path),
          [path],
        )
      }
    })
  }

  test('an expiry must be at least one millisecond in the future', async () => {
    const past = await manage('POST', '', { name: 'test', expiresAt: timestamp(service.now()) })
    assert.equal(past.status, 400)
    const future = await manage('POST', '', { name: 'test', expiresAt: timestamp(service.now() + 1) })
    assert.equal(future.status, 201)
  })

  test('a key with write scopes cannot become publishable, and a publishable key cannot get write scopes', async () => {
    const { id: writing } = await service.makeKey()
    const locked = await manage('PATCH', `/${writing}`, { origins: ['https://shelter.example'] })
    assert.equal(locked.status, 400)
    assert.equal(locked.json.details[0].path, '/scopes')
    const { id: publishable } = await service.makeKey({ origins: ['https://shelter.example'] })
    const widened = await manage('PATCH', `/${publishable}`, { scopes: ['pets:write'] })
    assert.equal(widened.status, 400)
    const both = await manage('PATCH', `/${publishable}`, { scopes: ['pets:write'], origins: [] })
    assert.equal(both.status, 200)
  })

  for (const overlapSeconds of [-1, 1.5, '60', null, 30 * 86_400 + 1]) {
    test(`an overlap of ${JSON.stringify(overlapSeconds)} seconds is rejected`, async () => {
      const { id, key } = await service.makeKey()
      const response = await manage('POST', `/${id}/rotate`, { overlapSeconds })
      assert.equal(response.status, 400)
      assert.equal(response.json.details[0].path, '/overlapSeconds')
      assert.equal((await use(key)).status, 200)
    })
  }
})

describe('pages of keys', () => {
  test('have 20 keys by default and at most 100', async () => {
    assert.equal((await manage('GET', '')).json.length, 20)
    for (const limit of ['0', '101', 'abc', '1.5', '+5', '']) {
      const response = await manage('GET', `?limit=${limit}`)
      assert.equal(response.status, 400)
      assert.equal(response.json.code, 'validation_failed')
    }
  })

  test('reject a damaged cursor', async () => {
    const page = await manage('GET', '?limit=1')
    const cursor = /cursor=([^>&]+)/.exec(String(page.headers.link))?.[1] as string
    assert.equal((await manage('GET', `?cursor=${cursor}`)).status, 200)
    for (const wrong of ['abc', cursor.slice(1), `${cursor}A`, '']) {
      const response = await manage('GET', `?cursor=${wrong}`)
      assert.equal(response.status, 400)
      assert.equal(response.json.code, 'invalid_cursor')
    }
  })
})
