import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { generateApiKey } from '../../src/auth/apiKey.ts'
import { eventually } from '../support/eventually.ts'
import { openRawConnection } from '../support/rawConnection.ts'
import { serverFor, stopped } from '../support/servers.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const ownAdminKey = 'an-admin-key-that-looks-like-no-other'

const service = useService()
let caller: { id: number; key: string }
before(async () => {
  caller = await service.makeKey({ name: 'caller' })
})

type Line = Record<string, unknown>

/** The lines that a request adds to the log. */
async function linesOf(request: () => Promise<unknown>): Promise<Line[]> {
  const before = service.logLines.length
  await request()
  return service.logLines.slice(before).map((line) => JSON.parse(line))
}

describe('every request has one line, with key, operation and outcome', () => {
  const key = () => caller.key
  const body = { name: 'Milo', categoryId: 1 }
  const scenarios: [
    name: string,
    request: {
      method: string
      path: string
      key?: () => string
      body?: unknown
      headers?: Record<string, string>
    },
    expected: Line,
  ][] = [
    ['read', { method: 'GET', path: '/v1/pets?limit=1', key }, { operation: 'listPets', status: 200 }],
    ['written', { method: 'POST', path: '/v1/pets', key, body }, { operation: 'createPet', status: 201 }],
    ['only the head', { method: 'HEAD', path: '/v1/pets', key }, { operation: 'listPets', status: 200 }],
    [
      'bad input',
      { method: 'GET', path: '/v1/pets?limit=0', key },
      { status: 400, code: 'validation_failed' },
    ],
    [
      'not JSON',
      { method: 'POST', path: '/v1/pets', key, body: '{' },
      { status: 400, code: 'malformed_json' },
    ],
    ['not allowed', { method: 'GET', path: '/v1/keys', key }, { status: 403, code: 'insufficient_scope' }],
    ['not there', { method: 'GET', path: '/v1/pets/99', key }, { operation: 'getPet', status: 404 }],
    ['no such path', { method: 'GET', path: '/v1/nothing', key }, { status: 404, code: 'not_found' }],
    ['no such method', { method: 'PUT', path: '/v1/pets', key }, { status: 405, code: 'method_not_allowed' }],
    ['too large', { method: 'POST', path: '/v1/pets', key, body: 'x'.repeat(70_000) }, { status: 413 }],
    [
      'no key',
      { method: 'GET', path: '/v1/pets' },
      { status: 401, code: 'missing_api_key', keyId: undefined },
    ],
    [
      'an unknown key',
      { method: 'GET', path: '/v1/pets', key: () => generateApiKey('production') },
      { status: 401, code: 'invalid_api_key', keyId: undefined },
    ],
  ]
  for (const [name, { key, ...request }, expected] of scenarios) {
    test(name, async () => {
      const lines = await linesOf(() =>
        service.request(request.method, request.path, {
          ...request,
          key: key?.(),
          headers: { 'x-request-id': 'sent.by-client_1' },
        }),
      )
      assert.equal(lines.length, 1)
      const [line] = lines
      assert.equal(line?.msg, 'request')
      assert.equal(line?.requestId, 'sent.by-client_1')
      assert.equal(line?.method, request.method)
      assert.equal(line?.path, request.path.split('?')[0], 'the path without its query')
      assert.equal(line?.address, '127.0.0.1')
      assert.equal(typeof line?.ms, 'number')
      assert.ok(!Number.isNaN(Date.parse(line?.time as string)))
      for (const [field, value] of Object.entries({ keyId: caller.id, ...expected }))
        assert.equal(line?.[field], value, field)
    })
  }

  test('over the limit', async () => {
    const { id, key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    await service.request('GET', '/v1/pets', { key })
    const [line, ...more] = await linesOf(() => service.request('GET', '/v1/pets', { key }))
    assert.deepEqual(more, [])
    assert.deepEqual([line?.keyId, line?.status, line?.code], [id, 429, 'rate_limit_exceeded'])
  })

  test('with the id of the response', async () => {
    let documented: unknown
    const [line] = await linesOf(async () => {
      documented = (await service.request('GET', '/v1/pets', { key: caller.key })).headers['x-request-id']
    })
    assert.ok(documented)
    assert.equal(line?.requestId, documented)
  })
})

test('a ban has a separate line, with the id of the key', async () => {
  const strict = await startTestService({ PETSTORE_BAN_AFTER_REFUSALS: '1' })
  try {
    const { id, key } = await strict.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    for (let n = 0; n < 3; n++) await strict.request('GET', '/v1/pets', { key })
    const bans = strict.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'key banned')
    assert.deepEqual(
      bans.map(({ keyId }) => keyId),
      [id],
    )
  } finally {
    await strict.stop()
  }
})

test('strangers that are rejected again and again do not fill the log', async () => {
  const attacked = await startTestService({ PETSTORE_TRUSTED_PROXIES: '127.0.0.1' })
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
  try {
    for (let n = 0; n < 100; n++) await attacked.request('GET', '/v1/pets', from('192.0.2.1'))
    for (let n = 0; n < 50; n++) await attacked.request('GET', '/adopt?q=a', from('192.0.2.2'))
    const { key } = await attacked.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    for (let n = 0; n < 41; n++) await attacked.request('GET', '/v1/pets', { key })
    for (let n = 0; n < 20; n++) {
      const caller = await openRawConnection(
        attacked.base,
        n % 2 === 0 ? 'NONSENSE\r\n\r\n' : 'GET /v1/pets HTTP/1.0\r\nHost: not valid\r\n\r\n',
      )
      await caller.closed
    }
    for (let n = 0; n < 20; n++) await attacked.request('OPTIONS', '/v1/pets')
    await attacked.request('GET', '/v1/pets', { key: attacked.operatorKey })
  } finally {
    await attacked.stop()
  }
  const lines = attacked.logLines.map((line) => JSON.parse(line))
  const counted = lines.filter(({ msg }) => msg === 'requests rejected')
  const single = lines.filter(({ msg, status }) => msg === 'request' && status !== 404)
  assert.ok(!lines.some(({ method }) => method === 'OPTIONS'))
  const rejected: Record<string, number> = {}
  for (const { code, address, count = 1 } of [...single, ...counted])
    if (code !== undefined) rejected[`${code} ${address}`] = (rejected[`${code} ${address}`] ?? 0) + count
  assert.deepEqual(rejected, {
    'missing_api_key 192.0.2.1': 100,
    'rate_limit_exceeded 192.0.2.2': 20,
    'rate_limit_exceeded 127.0.0.1': 40,
    'validation_failed 127.0.0.1': 20,
  })
  assert.ok(single.length < 20, `${single.length} lines`)
  assert.ok(single.some(({ status }) => status === 200))
})

describe('no API key is ever logged, in any part of a request', () => {
  const places: [
    where: string,
    send: (key: string, as: string) => [string, string, Record<string, string>, unknown?],
  ][] = [
    ['in Authorization', () => ['GET', '/v1/pets', {}]],
    ['in Authorization without Bearer', (key) => ['GET', '/v1/pets', { authorization: key }]],
    ['in Authorization twice', (key) => ['GET', '/v1/pets', { authorization: `Bearer ${key} ${key}` }]],
    ['in the query', (key) => ['GET', `/v1/pets?api_key=${key}&limit=${key}`, {}]],
    ['in the path', (key) => ['GET', `/v1/pets/${key}`, {}]],
    ['in an unknown path', (key) => ['GET', `/v1/${key}/x`, {}]],
    ['in the path, escaped', (key) => ['GET', `/v1/pets/${key.replaceAll('_', '%5F')}`, {}]],
    ['in the path, wholly escaped', (key) => ['GET', `/v1/pets/${escapeAll(key)}`, {}]],
    ['in the path, escaped, beside a broken escape', (key) => ['GET', `/v1/pets/%zz${escapeAll(key)}`, {}]],
    ['in the path of a page', (key) => ['GET', `/guides/${key}`, {}]],
    ['in X-Request-Id', (key) => ['GET', '/v1/pets', { 'x-request-id': key }]],
    ['within X-Request-Id', (key) => ['GET', '/v1/pets', { 'x-request-id': `trace-${key}.1` }]],
    [
      'in Idempotency-Key',
      (key) => ['POST', '/v1/pets', { 'idempotency-key': key }, { name: 'x', categoryId: 1 }],
    ],
    ['in a body', (key) => ['POST', '/v1/pets', {}, { name: key, categoryId: key, [key]: key }]],
    ['in a body that is no JSON', (key) => ['POST', '/v1/pets', {}, `${key} ${key}`]],
    [
      'in other headers',
      (key) => [
        'GET',
        '/v1/pets',
        { 'x-api-key': key, cookie: `k=${key}`, origin: `https://${key}`, 'user-agent': key },
      ],
    ],
    ['in X-Forwarded-For', (key) => ['GET', '/v1/pets', { 'x-forwarded-for': key }]],
  ]
  for (const [kind, keyOf] of [
    ['a valid key', (test: TestService) => test.operatorKey],
    ['an unknown key', () => generateApiKey('production')],
    ['a key of the other environment', () => generateApiKey('staging')],
  ] as const) {
    for (const [where, send] of places) {
      test(`${kind} ${where}`, async () => {
        const key = keyOf(service)
        const before = service.logLines.length
        for (const as of [key, service.operatorKey]) {
          const [method, path, headers, body] = send(key, as)
          const authorization = { authorization: `Bearer ${as}` }
          await service.request(method, path, { headers: { ...authorization, ...headers }, body })
        }
        assertNowhere(key, service.logLines.slice(before))
      })
    }
  }

  for (const [where, send] of places) {
    test(`a key that the operator chose ${where}`, async (t) => {
      const own = await ownService(t)
      const [method, path, headers, body] = send(ownAdminKey, ownAdminKey)
      await own.request(method, path, {
        headers: { authorization: `Bearer ${ownAdminKey}`, ...headers },
        body,
      })
      assertNowhere(ownAdminKey, own.logLines)
    })
  }

  let shared: Promise<TestService> | undefined
  after(async () => (await shared)?.stop())
  function ownService(_t: unknown): Promise<TestService> {
    shared ??= startTestService({ PETSTORE_ADMIN_KEY: ownAdminKey })
    return shared
  }
})

test('the secret of a key that is created, rotated or rejected is not logged', async () => {
  const key = service.operatorKey
  const before = service.logLines.length
  const made = await service.makeKey()
  const rotated = await service.request('POST', `/v1/keys/${made.id}/rotate`, { key })
  await service.request('GET', '/v1/pets', { key: made.key })
  await service.request('GET', '/v1/pets', { key: rotated.json.key })
  for (const secret of [made.key, rotated.json.key]) assertNowhere(secret, service.logLines.slice(before))
})

test('nothing of a body is logged, accepted or rejected', async () => {
  const before = service.logLines.length
  const secret = 'Ada-Lovelace-ada@example.org'
  for (const body of [
    { name: secret, categoryId: 1 },
    { name: secret, categoryId: secret },
    { name: 'x', categoryId: 1, customer: { name: secret, email: secret } },
    `{"name":"${secret}"`,
    `{"${secret}":1,"${secret}":2}`,
  ])
    await service.request('POST', '/v1/pets', {
      key: caller.key,
      body,
      headers: { prefer: 'handling=strict' },
    })
  await service.request('GET', `/v1/pets?status=${secret}`, { key: caller.key })
  const lines = service.logLines.slice(before)
  assert.equal(lines.length, 6)
  assertNowhere(secret, lines)
})

test('a server writes its log to standard error, whole at the end, and nothing to standard output', async (t) => {
  const server = await serverFor(t)
  const greeting = server.output.stdout
  for (let n = 0; n < 20; n++)
    await server.request('GET', `/v1/pets?key=${server.operatorKey}`, {
      key: server.operatorKey,
      headers: { 'x-request-id': `n-${n}` },
    })
  await eventually(
    'lines come out while it runs',
    () => server.output.stderr.includes('"msg":"request"'),
    5_000,
  )
  const { stdout, stderr } = await stopped(server)
  assert.equal(stdout, greeting)
  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    lines.filter(({ msg }) => msg === 'request').map(({ requestId }) => requestId),
    Array.from({ length: 20 }, (_, n) => `n-${n}`),
  )
  assert.deepEqual([lines[0].msg, lines.at(-2).msg, lines.at(-1).msg], ['started', 'stopping', 'stopped'])
  assertNowhere(
    server.operatorKey as string,
    lines.map((line) => JSON.stringify(line)),
  )
})

test('PETSTORE_LOG_LEVEL=silent logs nothing', async (t) => {
  const server = await serverFor(t, { PETSTORE_LOG_LEVEL: 'silent' })
  await server.request('GET', '/v1/pets', { key: server.operatorKey })
  assert.equal((await stopped(server)).stderr, '')
})

const escapeAll = (text: string) =>
  [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')

/** Not in plain text, not escaped, and not most of it. */
function assertNowhere(secret: string, lines: readonly string[]): void {
  for (const line of lines) {
    const readable =
      line + line.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    const part = secret.slice(secret.startsWith('ps_') ? 'ps_live_'.length : 0)
    for (const piece of [secret, part, part.slice(0, 20), part.slice(-20)])
      assert.ok(!readable.includes(piece), line)
  }
}
