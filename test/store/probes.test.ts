import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Door } from '../../src/http/door.ts'
import { metricsPage } from '../../src/pages/metrics.ts'
import type { Answer } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { startOfTests, startTestService, type TestService } from '../support/service.ts'

const sunset = Date.UTC(2030, 11, 5)

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service.stop())

const rateHeaders = (answer: Answer) =>
  Object.keys(answer.headers).filter((name) => /ratelimit|retry-after/.test(name))

describe('the probes need no key and have no rate headers', () => {
  for (const [path, body] of [
    ['/healthz', { status: 'up' }],
    ['/readyz', { status: 'ready' }],
  ] as const) {
    test(path, async () => {
      for (const options of [{}, { key: 'wrong' }, { headers: { 'x-forwarded-for': '203.0.113.9' } }]) {
        const answer = await service.request('GET', path, options)
        assert.equal(answer.status, 200)
        assert.deepEqual(answer.json, body)
        assert.equal(answer.headers['cache-control'], 'no-store')
        assert.deepEqual(rateHeaders(answer), [])
      }
      assert.equal((await service.request('HEAD', path)).status, 200)
    })
  }

  test('/metrics', async () => {
    const answer = await service.request('GET', '/metrics')
    assert.equal(answer.status, 200)
    assert.match(answer.headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/)
    assert.deepEqual(rateHeaders(answer), [])
  })

  test('and take nothing from the allowance of the address', async () => {
    const left = async () =>
      Number((await service.request('GET', '/v1/pets')).headers['x-ratelimit-remaining'])
    const before = await left()
    for (const path of ['/healthz', '/readyz', '/metrics', '/', '/docs', '/v1/openapi.json'])
      assert.equal((await service.request('GET', path)).status, 200)
    assert.equal(await left(), before - 1)
  })
})

test('readyz says 503 while the store cannot be read, and recovers', async () => {
  const store = await service.store()
  const rename = (from: string, to: string) =>
    store.write((trx) => trx.schema.alterTable(from).renameTo(to).execute())
  const statusOf = async (path: string) => (await service.request('GET', path)).status
  await rename('schema_migrations', 'schema_migrations_away')
  const answer = await service.request('GET', '/readyz')
  assert.equal(answer.status, 503)
  assert.deepEqual(answer.json, { status: 'not ready' })
  assert.equal(await statusOf('/healthz'), 200, 'the process is up all the same')
  await rename('schema_migrations_away', 'schema_migrations')
  await eventually('it recovers', async () => (await statusOf('/readyz')) === 200)
})

describe('who may read /metrics', () => {
  const forwardings = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via']

  for (const header of forwardings) {
    test(`through a proxy that says ${header}: with the operator key alone`, async () => {
      const { key: ordinary } = await service.makeKey()
      for (const [key, status, code] of [
        [undefined, 401, 'missing_api_key'],
        ['wrong', 401, 'invalid_api_key'],
        [ordinary, 403, 'insufficient_scope'],
        [service.operatorKey, 200, undefined],
      ] as const) {
        const answer = await service.request('GET', '/metrics', { key, headers: { [header]: '127.0.0.1' } })
        assert.equal(answer.status, status)
        assert.equal(answer.json?.code, code)
        assert.deepEqual(rateHeaders(answer), [])
        if (status === 401) assert.equal(answer.headers['www-authenticate'], 'Bearer')
      }
    })
  }

  describe('by the address of the connection, whatever is claimed to be forwarded', () => {
    const refusingDoor = {
      admit: async () => ({ caller: { keyId: 1, token: '', scopes: new Set(), origins: [] }, headers: {} }),
    } as unknown as Door
    const page = metricsPage(
      { answer: async () => ({ text: 'figures', contentType: 'text/plain' }) } as never,
      refusingDoor,
    )
    const scenarios: [remoteAddress: string, headers: Record<string, string>, status: number][] = [
      ['127.0.0.1', {}, 200],
      ['127.8.9.1', {}, 200],
      ['::1', {}, 200],
      ['::ffff:127.0.0.1', {}, 200],
      ['192.0.2.1', {}, 403],
      ['10.0.0.1', {}, 403],
      ['2001:db8::1', {}, 403],
      ['::ffff:192.0.2.1', {}, 403],
      ['', {}, 403],
      ['192.0.2.1', { 'x-forwarded-for': '127.0.0.1' }, 403],
      ['192.0.2.1', { 'x-forwarded-for': '::1, 127.0.0.1' }, 403],
      ['192.0.2.1', { forwarded: 'for=127.0.0.1' }, 403],
      ['192.0.2.1', { 'x-real-ip': '127.0.0.1' }, 403],
      ['192.0.2.1', { host: 'localhost' }, 403],
      ['127.0.0.1', { 'x-forwarded-for': '' }, 403],
      ['127.0.0.1', { 'x-forwarded-for': '127.0.0.1' }, 403],
    ]
    for (const [address, headers, status] of scenarios) {
      test(`${address || '(unknown)'} ${JSON.stringify(headers)}: ${status}`, async () => {
        const answer = await page.serve(new Request('http://petstore/metrics', { headers }), address)
        assert.equal(answer.status, status)
        assert.equal((await answer.text()) === 'figures', status === 200)
      })
    }
  })

  test('a trusted proxy opens nothing either', async () => {
    const proxied = await startTestService({ PETSTORE_TRUSTED_PROXIES: '127.0.0.1' })
    try {
      const headers = { 'x-forwarded-for': '127.0.0.1' }
      assert.equal((await proxied.request('GET', '/metrics', { headers })).status, 401)
    } finally {
      await proxied.stop()
    }
  })

  test('strangers are counted by their address, so that nobody can try keys for ever', async () => {
    const proxied = await startTestService()
    try {
      const headers = { 'x-forwarded-for': '203.0.113.9' }
      const statuses = new Set<number>()
      for (let n = 0; n < 101; n++)
        statuses.add((await proxied.request('GET', '/metrics', { headers, key: 'wrong' })).status)
      assert.deepEqual(statuses, new Set([401, 429]))
    } finally {
      await proxied.stop()
    }
  })
})

test('the first look at /metrics has figures of the process, those from before it included', async () => {
  const fresh = await startTestService()
  try {
    const { text } = await fresh.request('GET', '/metrics')
    assert.doesNotMatch(text, /\bNaN\b/)
    const seconds = (kind: string) =>
      Number(new RegExp(`^process_cpu_${kind}seconds_total ([\\d.e-]+)`, 'm').exec(text)?.[1])
    for (const kind of ['', 'user_']) assert.ok(seconds(kind) > 0.05, `${kind}: ${seconds(kind)}`)
  } finally {
    await fresh.stop()
  }
})

describe('/metrics counts', () => {
  const figure = async (name: string, labels: Record<string, string | number>): Promise<number> => {
    const { text } = await service.request('GET', '/metrics')
    const line = text
      .split('\n')
      .find(
        (candidate) =>
          candidate.startsWith(name) &&
          Object.entries(labels).every(([label, value]) => candidate.includes(`${label}="${value}"`)),
      )
    return Number(line?.split(' ').at(-1) ?? 0)
  }

  const scenarios: [
    name: string,
    metric: string,
    labels: (id: number) => Record<string, string | number>,
    send: (key: string) => Promise<unknown>,
  ][] = [
    [
      'requests by operation and status',
      'petstore_request_duration_seconds_count',
      () => ({ operation: 'listPets', status: 200 }),
      (key) => service.request('GET', '/v1/pets', { key }),
    ],
    [
      'requests of no operation together, so that callers cannot make labels',
      'petstore_request_duration_seconds_count',
      () => ({ operation: 'none', status: 404 }),
      (key) => service.request('GET', `/v1/${Math.random()}`, { key }),
    ],
    [
      'refusals by their code',
      'petstore_refusals_total',
      () => ({ code: 'validation_failed' }),
      (key) => service.request('GET', '/v1/pets?limit=0', { key }),
    ],
    [
      'uses of the deprecated operation by key',
      'petstore_deprecated_requests_total',
      (id) => ({ operation: 'getPet', key_id: id }),
      (key) => service.request('GET', '/v1/pets/1', { key }),
    ],
    [
      'uses of the deprecated operation without a key',
      'petstore_deprecated_requests_total',
      () => ({ operation: 'getPet', key_id: 'none' }),
      () => service.request('GET', '/v1/pets/1'),
    ],
  ]
  for (const [name, metric, labels, send] of scenarios) {
    test(name, async () => {
      const { id, key } = await service.makeKey()
      const before = await figure(metric, labels(id))
      for (let n = 0; n < 3; n++) await send(key)
      assert.equal(await figure(metric, labels(id)), before + 3)
    })
  }

  test('bans', async () => {
    const strict = await startTestService({ PETSTORE_BAN_AFTER_REFUSALS: '1' })
    try {
      const { key } = await strict.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
      for (let n = 0; n < 5; n++) await strict.request('GET', '/v1/pets', { key })
      assert.match((await strict.request('GET', '/metrics')).text, /^petstore_key_bans_total 1$/m)
    } finally {
      await strict.stop()
    }
  })

  test('and shows no key, path or address of a caller', async () => {
    const { key } = await service.makeKey()
    await service.request('GET', `/v1/pets/${key}?x=${key}`, { key })
    const { text } = await service.request('GET', '/metrics')
    assert.ok(!text.includes(key) && !text.includes(service.operatorKey) && !text.includes('127.0.0.1'))
  })
})

describe('getPet is on its way out', () => {
  const assertAnnounced = ({ headers }: Answer, base = '') => {
    assert.equal(headers.deprecation, '@1794700800')
    assert.equal(headers.sunset, 'Thu, 05 Dec 2030 00:00:00 GMT')
    const link = String(headers.link)
    assert.ok(new RegExp(`<${base}/[^>]*>; rel="deprecation"`).test(link), link)
    assert.ok(link.includes(`<${base}/v1/pets>; rel="successor-version"`), link)
  }

  test('and every answer of it says so', async () => {
    const key = service.operatorKey
    const { key: bare } = await service.makeKey({ scopes: ['orders:read'] })
    const { json } = await service.request('POST', '/v1/pets', { key, body: { name: 'Milo', categoryId: 1 } })
    const path = `/v1/pets/${json.id}`
    const { headers } = await service.request('GET', path, { key })
    const { key: tight } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    await service.request('GET', '/v1/pets', { key: tight })
    const scenarios: [status: number, answer: Promise<Answer>][] = [
      [200, service.request('GET', path, { key })],
      [200, service.request('HEAD', path, { key })],
      [304, service.request('GET', path, { key, headers: { 'if-none-match': headers.etag as string } })],
      [401, service.request('GET', path)],
      [401, service.request('GET', path, { key: 'wrong' })],
      [403, service.request('GET', path, { key: bare })],
      [404, service.request('GET', '/v1/pets/987654321', { key })],
      [404, service.request('GET', '/v1/pets/milo', { key })],
      [429, service.request('GET', path, { key: tight })],
    ]
    for (const [status, asked] of scenarios) {
      const answer = await asked
      assert.equal(answer.status, status)
      assertAnnounced(answer)
    }
  })

  test('and no other operation says so', async () => {
    const key = service.operatorKey
    const { json } = await service.request('POST', '/v1/pets', { key, body: { name: 'Milo', categoryId: 1 } })
    for (const answer of [
      await service.request('GET', '/v1/pets', { key }),
      await service.request('PATCH', `/v1/pets/${json.id}`, { key, body: { name: 'Mila' } }),
      await service.request('PUT', `/v1/pets/${json.id}`, { key }),
      await service.request('DELETE', `/v1/pets/${json.id}`, { key }),
    ]) {
      assert.equal(answer.headers.deprecation, undefined)
      assert.equal(answer.headers.sunset, undefined)
    }
  })

  test('and the page that the Link names is there, as HTML, without a key', async () => {
    const { headers } = await service.request('GET', '/v1/pets/1', { key: service.operatorKey })
    const path = /<([^>]+)>; rel="deprecation"/.exec(String(headers.link))?.[1] as string
    const page = await service.request('GET', path)
    assert.equal(page.status, 200)
    assert.match(page.headers['content-type'] ?? '', /^text\/html/)
    assert.match(page.text, /<html/)
    assert.match(page.text, /getPet|GET \/(?:v1\/)?pets\/\{petId\}/)
    assert.deepEqual(rateHeaders(page), [])
  })

  test('and behind a public address the links are absolute', async () => {
    const named = await startTestService({ PETSTORE_PUBLIC_URL: 'https://api.shelter.example' })
    try {
      assertAnnounced(
        await named.request('GET', '/v1/pets/1', { key: named.operatorKey }),
        'https://api.shelter.example',
      )
    } finally {
      await named.stop()
    }
  })

  test('one millisecond before its end it still answers, and from then on it is gone: 410', async () => {
    const late = await startTestService()
    try {
      const key = late.operatorKey
      await late.request('POST', '/v1/pets', { key, body: { name: 'Milo', categoryId: 1 } })
      late.advance(sunset - startOfTests - 1)
      assert.equal((await late.request('GET', '/v1/pets/1', { key })).status, 200)
      late.advance(1)
      for (const path of ['/v1/pets/1', '/v1/pets/2', '/v1/pets/milo']) {
        const gone = await late.request('GET', path, { key })
        assert.equal(gone.status, 410)
        assert.equal(gone.json.code, 'operation_removed')
        assert.match(gone.json.message, /GET \/pets/)
        assertAnnounced(gone)
      }
      const unknown = await late.request('GET', '/v1/pets/1')
      assert.equal(unknown.status, 401, 'who asks comes first')
      assertAnnounced(unknown)
      assert.deepEqual((await late.request('GET', '/v1/pets?id=1', { key })).json.length, 1)
      assert.equal((await late.request('PATCH', '/v1/pets/1', { key, body: { name: 'Mila' } })).status, 200)
      assert.equal((await late.request('DELETE', '/v1/pets/1', { key })).status, 204)
    } finally {
      await late.stop()
    }
  })
})
