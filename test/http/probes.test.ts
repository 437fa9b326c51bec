import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ClientResponse } from '../support/client.ts'
import { holdWriteLockOf } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { startOfTests, startTestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const sunset = Date.UTC(2030, 11, 5)

const service = useService()

const rateHeaders = (response: ClientResponse) =>
  Object.keys(response.headers).filter((name) => /ratelimit|retry-after/.test(name))

describe('the probes need no key and have no rate headers', () => {
  for (const [path, body] of [
    ['/healthz', { status: 'up' }],
    ['/readyz', { status: 'ready' }],
  ] as const) {
    test(path, async () => {
      for (const options of [{}, { key: 'wrong' }, { headers: { 'x-forwarded-for': '203.0.113.9' } }]) {
        const response = await service.request('GET', path, options)
        assert.equal(response.status, 200)
        assert.deepEqual(response.json, body)
        assert.equal(response.headers['cache-control'], 'no-store')
        assert.deepEqual(rateHeaders(response), [])
      }
      assert.equal((await service.request('HEAD', path)).status, 200)
    })
  }

  test('and do not count for the rate limit of the address', async () => {
    const left = async () =>
      Number((await service.request('GET', '/v1/pets')).headers['x-ratelimit-remaining'])
    const before = await left()
    for (const path of ['/healthz', '/readyz', '/', '/docs', '/v1/openapi.json'])
      assert.equal((await service.request('GET', path)).status, 200)
    assert.equal(await left(), before - 1)
  })
})

test('readyz returns 503 while the database cannot be read, and recovers', async () => {
  const database = await service.openDatabase()
  const rename = (from: string, to: string) =>
    database.write((trx) => trx.schema.alterTable(from).renameTo(to).execute())
  const statusOf = async (path: string) => (await service.request('GET', path)).status
  await rename('schema_migrations', 'schema_migrations_away')
  const response = await eventually('readyz says so', async () => {
    const found = await service.request('GET', '/readyz')
    return found.status === 503 && found
  })
  assert.deepEqual(response.json, { status: 'not ready' })
  assert.equal(await statusOf('/healthz'), 200, 'the process is up all the same')
  await rename('schema_migrations_away', 'schema_migrations')
  await eventually('it recovers', async () => (await statusOf('/readyz')) === 200)
})

describe('access to /metrics', () => {
  const claims: Record<string, string>[] = [
    {},
    ...['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'].map((name) => ({ [name]: '127.0.0.1' })),
    { host: 'localhost' },
  ]
  for (const headers of claims) {
    test(`from this machine, ${JSON.stringify(headers)}: with a key of the operator alone`, async () => {
      const { key: ordinary } = await service.makeKey()
      for (const [key, status, code] of [
        [undefined, 401, 'missing_api_key'],
        ['wrong', 401, 'invalid_api_key'],
        [ordinary, 403, 'insufficient_scope'],
        [service.operatorKey, 200, undefined],
      ] as const) {
        const response = await service.request('GET', '/metrics', { key, headers })
        assert.equal(response.status, status)
        assert.equal(response.json?.code, code)
        assert.equal(/petstore_request_duration_seconds/.test(response.text), status === 200)
        assert.deepEqual(rateHeaders(response), [])
        if (status === 401) assert.equal(response.headers['www-authenticate'], 'Bearer')
        if (status === 200)
          assert.match(String(response.headers['content-type']), /^text\/plain; version=0\.0\.4/)
      }
    })
  }

  test('petstore_writes_waiting counts creates that wait for the database', async () => {
    const waiting = async () => {
      const { text } = await service.request('GET', '/metrics', { key: service.operatorKey })
      return Number(/^petstore_writes_waiting (\d+)$/m.exec(text)?.[1])
    }
    const lock = await holdWriteLockOf(service.databaseEnv)
    const create = () =>
      service.request('POST', '/v1/pets', { key: service.operatorKey, body: { name: 'Milo', categoryId: 1 } })
    const created: Promise<ClientResponse>[] = []
    const addAnother = async () => {
      created.push(create())
      return (await waiting()) > 0
    }
    await eventually('creates wait', addAnother).finally(lock.release)
    for (const response of created) assert.equal((await response).status, 201)
    await eventually('nothing waits', async () => (await waiting()) === 0)
  })

  for (const scope of ['metrics:read', 'keys:manage'])
    test(`a key with ${scope} alone is enough`, async () => {
      const { key } = await service.makeKey({ scopes: [scope] })
      assert.equal((await service.request('GET', '/metrics', { key })).status, 200)
    })

  test('a key with metrics:read can do nothing else', async () => {
    const { key } = await service.makeKey({ scopes: ['metrics:read'] })
    for (const path of ['pets', 'store/orders', 'keys', 'events', 'webhooks', 'audit', 'usage'])
      assert.equal((await service.request('GET', `/v1/${path}`, { key })).status, 403, path)
    const body = { name: 'Another key', scopes: ['keys:manage'] }
    assert.equal((await service.request('POST', '/v1/keys', { key, body })).status, 403)
    assert.deepEqual((await service.request('GET', '/v1/limits', { key })).json.scopes, ['metrics:read'])
  })

  test('a key without it is told which scope it needs', async () => {
    const { key } = await service.makeKey()
    const { json } = await service.request('GET', '/metrics', { key })
    assert.match(json.message, /"metrics:read"/)
  })

  test('without a key if the operator has allowed it, within the rate limit of pages', async () => {
    const open = await startTestService({ PETSTORE_METRICS_OPEN: 'true' })
    try {
      for (const headers of claims) {
        const response = await open.request('GET', '/metrics', { headers })
        assert.equal(response.status, 200)
        assert.match(response.text, /petstore_request_duration_seconds/)
        assert.deepEqual(rateHeaders(response), [])
      }
      // Together with those to other pages, which take less time.
      const statuses = await Promise.all(
        Array.from({ length: 600 }, async () => (await open.request('GET', '/none')).status),
      )
      assert.equal(statuses.filter((status) => status === 429).length, claims.length)
      assert.equal((await open.request('GET', '/metrics')).status, 429)
    } finally {
      await open.stop()
    }
  })

  test('a valid key is not limited by the requests of its address', async () => {
    const fresh = await startTestService()
    try {
      await Promise.all(Array.from({ length: 601 }, () => fresh.request('GET', '/none')))
      assert.equal((await fresh.request('GET', '/none')).status, 429)
      assert.equal((await fresh.request('GET', '/metrics', { key: fresh.operatorKey })).status, 200)
    } finally {
      await fresh.stop()
    }
  })

  test('requests without a valid key count for the address, so that keys cannot be guessed', async () => {
    const proxied = await startTestService({ PETSTORE_TRUSTED_PROXIES: '127.0.0.1' })
    try {
      const headers = { 'x-forwarded-for': '203.0.113.9' }
      const statuses: number[] = []
      for (let n = 0; n < 101; n++)
        statuses.push((await proxied.request('GET', '/metrics', { headers, key: 'wrong' })).status)
      assert.deepEqual(new Set(statuses.slice(0, 100)), new Set([401]))
      assert.equal(statuses[100], 429)
      const other = { 'x-forwarded-for': '203.0.113.10' }
      assert.equal((await proxied.request('GET', '/metrics', { headers: other })).status, 401)
    } finally {
      await proxied.stop()
    }
  })
})

test('the first /metrics response includes process metrics from before it', async () => {
  const fresh = await startTestService()
  try {
    const { text } = await fresh.request('GET', '/metrics', { key: fresh.operatorKey })
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
    const { text } = await service.request('GET', '/metrics', { key: service.operatorKey })
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
      'errors by code',
      'petstore_refusals_total',
      () => ({ code: 'validation_failed' }),
      (key) => service.request('GET', '/v1/pets?limit=0', { key }),
    ],
    [
      'requests to /metrics without a valid key, such as attempts to guess one',
      'petstore_refusals_total',
      () => ({ code: 'invalid_api_key' }),
      () => service.request('GET', '/metrics', { key: 'wrong' }),
    ],
    [
      'requests to /metrics with a key that may not read it',
      'petstore_refusals_total',
      () => ({ code: 'insufficient_scope' }),
      (key) => service.request('GET', '/metrics', { key }),
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
      const { text } = await strict.request('GET', '/metrics', { key: strict.operatorKey })
      assert.match(text, /^petstore_key_bans_total 1$/m)
    } finally {
      await strict.stop()
    }
  })

  test('and shows no key, path or address of a caller', async () => {
    const { key } = await service.makeKey()
    await service.request('GET', `/v1/pets/${key}?x=${key}`, { key })
    const { text } = await service.request('GET', '/metrics', { key: service.operatorKey })
    assert.ok(!text.includes(key) && !text.includes(service.operatorKey) && !text.includes('127.0.0.1'))
  })
})

describe('getPet is deprecated', () => {
  const assertAnnounced = ({ headers }: ClientResponse, base = '') => {
    assert.equal(headers.deprecation, '@1794700800')
    assert.equal(headers.sunset, 'Thu, 05 Dec 2030 00:00:00 GMT')
    const link = String(headers.link)
    assert.ok(new RegExp(`<${base}/[^>]*>; rel="deprecation"`).test(link), link)
    assert.ok(link.includes(`<${base}/v1/pets>; rel="successor-version"`), link)
  }

  test('and every response has the deprecation headers', async () => {
    const key = service.operatorKey
    const { key: bare } = await service.makeKey({ scopes: ['orders:read'] })
    const { json } = await service.request('POST', '/v1/pets', { key, body: { name: 'Milo', categoryId: 1 } })
    const path = `/v1/pets/${json.id}`
    const { headers } = await service.request('GET', path, { key })
    const { key: tight } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    await service.request('GET', '/v1/pets', { key: tight })
    const scenarios: [status: number, response: Promise<ClientResponse>][] = [
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
    for (const [status, requested] of scenarios) {
      const response = await requested
      assert.equal(response.status, status)
      assertAnnounced(response)
    }
  })

  test('and no other operation has them', async () => {
    const key = service.operatorKey
    const { json } = await service.request('POST', '/v1/pets', { key, body: { name: 'Milo', categoryId: 1 } })
    for (const response of [
      await service.request('GET', '/v1/pets', { key }),
      await service.request('PATCH', `/v1/pets/${json.id}`, { key, body: { name: 'Mila' } }),
      await service.request('PUT', `/v1/pets/${json.id}`, { key }),
      await service.request('DELETE', `/v1/pets/${json.id}`, { key }),
    ]) {
      assert.equal(response.headers.deprecation, undefined)
      assert.equal(response.headers.sunset, undefined)
    }
  })

  test('and the page of the Link header exists, as HTML, without a key', async () => {
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

  test('it works until one millisecond before its sunset, then returns 410', async () => {
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
      assert.equal(unknown.status, 401, 'authentication comes first')
      assertAnnounced(unknown)
      assert.deepEqual((await late.request('GET', '/v1/pets?id=1', { key })).json.length, 1)
      assert.equal((await late.request('PATCH', '/v1/pets/1', { key, body: { name: 'Mila' } })).status, 200)
      assert.equal((await late.request('DELETE', '/v1/pets/1', { key })).status, 204)
    } finally {
      await late.stop()
    }
  })
})
