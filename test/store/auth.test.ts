import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { generateApiKey } from '../../src/auth/apiKey.ts'
import { ConfigError, readConfig } from '../../src/config.ts'
import { getPetDeprecation } from '../../src/pets/routes.ts'
import { databaseFor, removeDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { runPetstore, startServer } from '../support/process.ts'
import { openRawConnection } from '../support/rawConnection.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const rateHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
const damaged = (key: string) => key.slice(0, -1) + (key.endsWith('x') ? 'y' : 'x')

describe('authentication', () => {
  const service = useService()

  const manage = (method: string, path: string, body?: unknown) =>
    service.request(method, path, { key: service.operatorKey, ...(body !== undefined && { body }) })

  const unknown = /^This API key is not valid\. .* ps_live_\.$/
  /** What a caller may send, and the error. The error reveals nothing about keys that do not exist. */
  const rejections: {
    name: string
    authorization: () => string | undefined | Promise<string>
    code: string
    message: RegExp
  }[] = [
    { name: 'no header', authorization: () => undefined, code: 'missing_api_key', message: /Bearer/ },
    { name: 'an empty header', authorization: () => '', code: 'missing_api_key', message: /Bearer/ },
    { name: 'a scheme alone', authorization: () => 'Bearer', code: 'missing_api_key', message: /Bearer/ },
    {
      name: 'a key without a scheme',
      authorization: () => service.operatorKey,
      code: 'missing_api_key',
      message: /Bearer/,
    },
    {
      name: 'another scheme',
      authorization: () => `Basic ${service.operatorKey}`,
      code: 'missing_api_key',
      message: /Bearer/,
    },
    {
      name: 'two keys',
      authorization: () => `Bearer ${service.operatorKey} ${service.operatorKey}`,
      code: 'missing_api_key',
      message: /Bearer/,
    },
    {
      name: 'no key at all',
      authorization: () => 'Bearer nonsense',
      code: 'invalid_api_key',
      message: unknown,
    },
    {
      name: 'a key cut short',
      authorization: () => `Bearer ${service.operatorKey.slice(0, -1)}`,
      code: 'invalid_api_key',
      message: unknown,
    },
    {
      name: 'a wrong checksum',
      authorization: () => `Bearer ${damaged(service.operatorKey)}`,
      code: 'invalid_api_key',
      message: unknown,
    },
    {
      name: 'an unknown key',
      authorization: () => `Bearer ${generateApiKey('production')}`,
      code: 'invalid_api_key',
      message: unknown,
    },
    {
      name: 'an unknown key of the other environment',
      authorization: () => `Bearer ${generateApiKey('staging')}`,
      code: 'invalid_api_key',
      message: unknown,
    },
    {
      name: 'a revoked key',
      async authorization() {
        const { id, key } = await service.makeKey()
        await manage('DELETE', `/v1/keys/${id}`)
        return `Bearer ${key}`
      },
      code: 'invalid_api_key',
      message: /^This API key has been revoked\. Ask the operator for a new one\.$/,
    },
    {
      name: 'an expired key',
      async authorization() {
        const expiresAt = new Date(service.now() + 1_000).toISOString()
        const { key } = await service.makeKey({ expiresAt })
        assert.equal((await service.request('GET', '/v1/pets', { key })).status, 200)
        service.advance(1_000)
        return `Bearer ${key}`
      },
      code: 'invalid_api_key',
      message: /^This API key has expired\. Ask the operator for a new one\.$/,
    },
    {
      name: 'a secret that was rotated out',
      async authorization() {
        const { id, key } = await service.makeKey()
        await manage('POST', `/v1/keys/${id}/rotate`)
        return `Bearer ${key}`
      },
      code: 'invalid_api_key',
      message: /^This API key has been rotated\. Use the new secret\.$/,
    },
  ]

  for (const { name, authorization, code, message } of rejections) {
    test(`rejected with 401: ${name}`, async () => {
      const value = await authorization()
      const response = await service.request('GET', '/v1/pets', {
        headers: value === undefined ? {} : { authorization: value },
      })
      assert.equal(response.status, 401)
      assert.equal(response.headers['www-authenticate'], 'Bearer')
      assert.equal(response.json.code, code)
      assert.equal(response.json.status, 401)
      assert.match(response.json.message, message)
      assert.deepEqual(Object.keys(response.json), ['code', 'message', 'status'])
      for (const header of rateHeaders) assert.match(String(response.headers[header]), /^\d+$/)
    })
  }

  test('every key that does not exist gets the same response', async () => {
    const keys = [
      'nonsense',
      generateApiKey('production'),
      generateApiKey('staging'),
      damaged(generateApiKey('staging')),
    ]
    const responses = await Promise.all(keys.map((key) => service.request('GET', '/v1/pets', { key })))
    assert.equal(new Set(responses.map(({ text }) => text)).size, 1)
  })

  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer  ']) {
    test(`the scheme is case-insensitive and may be followed by more spaces: "${scheme}"`, async () => {
      const { key } = await service.makeKey()
      const response = await service.request('GET', '/v1/pets', {
        headers: { authorization: `${scheme} ${key}` },
      })
      assert.equal(response.status, 200)
    })
  }
})

test('the error for an existing key of the other environment names the environment', async () => {
  const staging = await startTestService({ PETSTORE_ENV: 'staging' })
  const production = await startTestService()
  try {
    const { id, key } = await staging.makeKey()
    // A database belongs to one environment, so a key of the other can only have been imported.
    const exported = await runPetstore(['export'], {
      ...staging.databaseEnv,
      PETSTORE_ENV: 'staging',
    })
    const record = exported.stdout.split('\n').find((line) => line.startsWith(`{"type":"key","id":${id},`))
    const imported = await runPetstore(['import', '--with-keys'], production.databaseEnv, record)
    assert.equal(imported.code, 0, imported.stderr)
    const response = await production.request('GET', '/v1/pets', { key })
    assert.equal(response.status, 401)
    assert.equal(response.json.code, 'invalid_api_key')
    assert.match(
      response.json.message,
      /^This API key belongs to the staging environment\. Use a production key/,
    )
    assert.equal((await staging.request('GET', '/v1/pets', { key })).status, 200)
  } finally {
    await staging.stop()
    await production.stop()
  }
})

describe('a key that changes while the body of its request is arriving', () => {
  const service = useService()

  const changes: {
    name: string
    method: string
    body?: unknown
    status: number
    code: string
    message: RegExp
  }[] = [
    {
      name: 'revoked',
      method: 'DELETE',
      status: 401,
      code: 'invalid_api_key',
      message: /^This API key was revoked or expired while the request arrived\.$/,
    },
    {
      name: 'deprived of the scope',
      method: 'PATCH',
      body: { scopes: ['pets:read'] },
      status: 403,
      code: 'insufficient_scope',
      message: /"pets:write"/,
    },
  ]
  for (const { name, method, body, status, code, message } of changes) {
    test(`and is ${name} cannot write`, async () => {
      const { id, key } = await service.makeKey()
      const pet = '{"name":"too late","categoryId":1}'
      const caller = await openRawConnection(
        service.base,
        `POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${pet.length}\r\n\r\n`,
        pet.slice(0, 10),
      )
      try {
        const left = async () => (await service.request('GET', '/v1/limits', { key })).json.minute.remaining
        await eventually('the request is authenticated', async () => (await left()) === 59)
        const changed = await service.request(method, `/v1/keys/${id}`, { key: service.operatorKey, body })
        assert.ok(changed.status < 300, changed.text)
        caller.socket.write(pet.slice(10))
        const response = await caller.response()
        const error = JSON.parse(response.body)
        assert.deepEqual([response.status, error.code], [status, code])
        assert.match(error.message, message)
        assert.equal(/^www-authenticate: bearer$/im.test(response.head), status === 401)
        const { json } = await service.request('GET', '/v1/pets', { key: service.operatorKey })
        assert.deepEqual(json, [])
      } finally {
        caller.socket.destroy()
      }
    })
  }
})

describe('a database belongs to one environment permanently', () => {
  for (const [own, other] of [
    ['staging', 'production'],
    ['production', 'staging'],
  ] as const) {
    test(`a ${own} database is rejected in ${other} and stays unchanged`, async (t) => {
      const env = await databaseFor(t)
      const run = (environment: string, args: string[], input = '') =>
        runPetstore(args, { ...env, PETSTORE_ENV: environment, PORT: '0' }, input)
      assert.equal((await run(own, ['keys', 'create', '--name', 'first'])).code, 0)
      const before = await run(own, ['export'])
      const animal = '{"name":"Milo","categoryId":3}'
      for (const args of [['serve'], ['keys', 'create', '--name', 'second'], ['import'], ['export']]) {
        const { code, stdout, stderr } = await run(other, args, animal)
        assert.equal(code, 1, args.join(' '))
        assert.equal(stdout, '')
        assert.equal(
          stderr,
          `This database belongs to the ${own} environment, but PETSTORE_ENV is ${other}. Use a separate database for each environment.\n`,
        )
      }
      assert.deepEqual(await run(own, ['export']), before)
    })
  }
})

describe('the order of the checks', () => {
  const service = useService()

  /** Each request fails two checks; the response shows which check comes first. */
  const scenarios: {
    name: string
    settings?: Record<string, unknown>
    /** Requests sent first, to use up the rate limit. */
    warmUp?: number
    method: string
    path: string
    body?: unknown
    headers?: Record<string, string>
    status: number
    code: string
  }[] = [
    { name: '401 before 404', method: 'GET', path: '/v1/nowhere', status: 401, code: 'missing_api_key' },
    { name: '401 before 405', method: 'PUT', path: '/v1/pets', status: 401, code: 'missing_api_key' },
    {
      name: '401 before 400',
      method: 'POST',
      path: '/v1/pets',
      body: '{',
      status: 401,
      code: 'missing_api_key',
    },
    {
      name: '401 before 413',
      method: 'POST',
      path: '/v1/pets',
      body: ' '.repeat(70_000),
      status: 401,
      code: 'missing_api_key',
    },
    {
      name: '429 before 404',
      settings: { plan: 'enterprise', limits: { perMinute: 1 } },
      warmUp: 1,
      method: 'GET',
      path: '/v1/nowhere',
      status: 429,
      code: 'rate_limit_exceeded',
    },
    {
      name: '429 before 405',
      settings: { plan: 'enterprise', limits: { perMinute: 1 } },
      warmUp: 1,
      method: 'PUT',
      path: '/v1/pets',
      status: 429,
      code: 'rate_limit_exceeded',
    },
    {
      name: '429 before 403',
      settings: { plan: 'enterprise', limits: { perMinute: 1 }, scopes: [] },
      warmUp: 1,
      method: 'GET',
      path: '/v1/pets',
      status: 429,
      code: 'rate_limit_exceeded',
    },
    {
      name: '404 before 403',
      settings: { scopes: [] },
      method: 'GET',
      path: '/v1/nowhere',
      status: 404,
      code: 'not_found',
    },
    {
      name: '405 before 403',
      settings: { scopes: [] },
      method: 'PUT',
      path: '/v1/pets',
      status: 405,
      code: 'method_not_allowed',
    },
    {
      name: '403 for a wrong origin before 404',
      settings: { origins: ['https://shelter.example'] },
      headers: { origin: 'https://elsewhere.example' },
      method: 'GET',
      path: '/v1/nowhere',
      status: 403,
      code: 'origin_not_allowed',
    },
    {
      name: '403 before 400 in the body',
      settings: { scopes: ['pets:read'] },
      method: 'POST',
      path: '/v1/pets',
      body: '{',
      status: 403,
      code: 'insufficient_scope',
    },
    {
      name: '403 before 400 in the query',
      settings: { scopes: [] },
      method: 'GET',
      path: '/v1/pets?limit=0',
      status: 403,
      code: 'insufficient_scope',
    },
    {
      name: '403 before 413',
      settings: { scopes: [] },
      method: 'POST',
      path: '/v1/pets',
      body: ' '.repeat(70_000),
      status: 403,
      code: 'insufficient_scope',
    },
    {
      name: '403 before 415',
      settings: { scopes: [] },
      method: 'POST',
      path: '/v1/pets',
      body: 'name=Milo',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      status: 403,
      code: 'insufficient_scope',
    },
    {
      name: '403 before 404 for an unknown pet',
      settings: { scopes: [] },
      method: 'GET',
      path: '/v1/pets/12345',
      status: 403,
      code: 'insufficient_scope',
    },
    {
      name: '403 before 404 for a path parameter that is not an int64',
      settings: { scopes: [] },
      method: 'GET',
      path: '/v1/pets/milo',
      status: 403,
      code: 'insufficient_scope',
    },
  ]

  for (const { name, settings, warmUp = 0, method, path, body, headers = {}, status, code } of scenarios) {
    test(name, async () => {
      const key = settings && (await service.makeKey(settings)).key
      for (let i = 0; i < warmUp; i++) await service.request('GET', '/v1/pets', { key })
      const response = await service.request(method, path, { key, headers, body })
      assert.equal(response.status, status)
      assert.equal(response.json.code, code)
      assert.equal(response.json.status, status)
      for (const header of rateHeaders) assert.match(String(response.headers[header]), /^\d+$/)
      if (status === 405) assert.match(String(response.headers.allow), /GET, POST, HEAD, OPTIONS/)
    })
  }

  test('429 before 401 once an address has exceeded its rate limit', async () => {
    for (let i = 0; i < 100; i++) await service.request('GET', '/v1/pets')
    const response = await service.request('GET', '/v1/pets')
    assert.equal(response.status, 429)
    assert.equal(response.json.code, 'rate_limit_exceeded')
    service.advance(60_000)
  })

  test('a removed operation returns 410 after 401 and 429, and before 403', async () => {
    const { key: powerless } = await service.makeKey({ scopes: [] })
    const { key: tight } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    service.advance(getPetDeprecation.sunsetMs - service.now() - 1)
    assert.equal((await service.request('GET', '/v1/pets/1', { key: powerless })).status, 403)
    service.advance(1)
    const removed = await service.request('GET', '/v1/pets/1', { key: powerless })
    assert.equal(removed.status, 410)
    assert.equal(removed.json.code, 'operation_removed')
    assert.match(removed.json.message, /GET \/pets/)
    assert.equal((await service.request('GET', '/v1/pets/1')).status, 401)
    assert.equal((await service.request('GET', '/v1/pets/1', { key: tight })).status, 410)
    assert.equal((await service.request('GET', '/v1/pets/1', { key: tight })).status, 429)
    assert.equal((await service.request('DELETE', '/v1/pets/1', { key: powerless })).status, 403)
  })
})

describe('the key that PETSTORE_ADMIN_KEY sets', () => {
  const first = 'my-own-operator-key-of-enough-length-1'
  const second = 'my-own-operator-key-of-enough-length-2'
  const status = async (service: TestService, key: string) =>
    (await service.request('GET', '/v1/keys', { key })).status

  test('is the operator, and a changed value replaces it at the next start', async () => {
    const service = await startTestService({ PETSTORE_ADMIN_KEY: first })
    try {
      assert.equal(await status(service, first), 200)
      await service.restart({ PETSTORE_ADMIN_KEY: second })
      assert.equal(await status(service, first), 401)
      assert.equal(await status(service, second), 200)
      const { json } = await service.request('GET', '/v1/keys', { key: second })
      assert.equal(json.length, 1)
      assert.equal(json[0].name, 'operator')
      assert.ok(!service.logLines.join('').includes('my-own-operator-key'))
    } finally {
      await service.stop()
    }
  })

  test('can be added to a database that already has an operator key, and both work', async () => {
    const service = await startTestService()
    try {
      await service.restart({ PETSTORE_ADMIN_KEY: first })
      assert.equal(await status(service, service.operatorKey), 200)
      assert.equal(await status(service, first), 200)
    } finally {
      await service.stop()
    }
  })

  test('can be a key that was generated by another instance', async () => {
    const key = generateApiKey('production')
    const service = await startTestService({ PETSTORE_ADMIN_KEY: key })
    try {
      assert.equal(await status(service, key), 200)
    } finally {
      await service.stop()
    }
  })

  test('can be an existing key, whose settings stay unchanged', async () => {
    const service = await startTestService()
    try {
      const { key } = await service.makeKey({ scopes: ['pets:read'] })
      await service.restart({ PETSTORE_ADMIN_KEY: key })
      assert.equal((await service.request('GET', '/v1/pets', { key })).status, 200)
      assert.equal(await status(service, key), 403)
    } finally {
      await service.stop()
    }
  })

  const losses: { name: string; method: string; path: string; body?: unknown }[] = [
    { name: 'revoked', method: 'DELETE', path: '/v1/keys/1' },
    { name: 'rotated', method: 'POST', path: '/v1/keys/1/rotate' },
    { name: 'deprived of its scopes', method: 'PATCH', path: '/v1/keys/1', body: { scopes: [] } },
    {
      name: 'restricted to an origin',
      method: 'PATCH',
      path: '/v1/keys/1',
      body: { origins: ['https://shelter.example'], scopes: ['pets:read'] },
    },
    {
      name: 'given an expiry',
      method: 'PATCH',
      path: '/v1/keys/1',
      body: { expiresAt: '2026-11-15T12:00:00.001Z' },
    },
  ]
  for (const { name, method, path, body } of losses) {
    test(`manages keys again at the next start after it was ${name}`, async () => {
      const service = await startTestService({ PETSTORE_ADMIN_KEY: first })
      try {
        const lost = await service.request(method, path, { key: first, body })
        assert.ok(lost.status < 300, lost.text)
        service.advance(1)
        assert.notEqual(await status(service, first), 200)
        await service.restart()
        assert.equal(await status(service, first), 200)
      } finally {
        await service.stop()
      }
    })
  }

  const production = generateApiKey('production')
  const choices: { name: string; value: string; problem?: RegExp }[] = [
    { name: '32 visible characters', value: 'x'.repeat(32) },
    { name: '255 visible characters', value: 'x'.repeat(255) },
    { name: 'every kind of visible character', value: '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~' },
    { name: 'a key of this service', value: production },
    { name: '31 characters', value: 'x'.repeat(31), problem: /32 to 255 visible/ },
    { name: '256 characters', value: 'x'.repeat(256), problem: /32 to 255 visible/ },
    { name: 'a space', value: `${'x'.repeat(32)} x`, problem: /visible/ },
    { name: 'a letter beyond ASCII', value: `${'x'.repeat(32)}é`, problem: /visible/ },
    { name: 'a damaged key of this service', value: damaged(production), problem: /checksum/ },
    {
      name: 'a key of the other environment',
      value: generateApiKey('staging'),
      problem: /other environment/,
    },
  ]
  for (const { name, value, problem } of choices) {
    test(`${problem ? 'may not be' : 'may be'} ${name}`, () => {
      const read = () => readConfig({ PETSTORE_ADMIN_KEY: value })
      if (!problem) {
        assert.equal(read().adminKey, value)
        return
      }
      assert.throws(read, (error: ConfigError) => {
        assert.ok(error instanceof ConfigError)
        assert.equal(error.problems.length, 1)
        assert.match(error.message, /PETSTORE_ADMIN_KEY/)
        assert.match(error.message, problem)
        assert.ok(!error.message.includes(value))
        return true
      })
    })
  }

  test('makes the start fail with status 2 if it is not usable, and is not printed', async () => {
    const { code, stdout, stderr } = await runPetstore(['serve'], {
      PORT: '0',
      PETSTORE_ADMIN_KEY: 'too-short',
    })
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /PETSTORE_ADMIN_KEY/)
    assert.ok(!stderr.includes('too-short'))
  })

  test('is not printed', async () => {
    const server = await startServer({ PETSTORE_ADMIN_KEY: first })
    try {
      assert.equal((await server.request('GET', '/v1/keys', { key: first })).status, 200)
    } finally {
      server.child.kill('SIGTERM')
    }
    const { code, stdout, stderr } = await server.ended
    await removeDatabase(server.databaseEnv)
    assert.equal(code, 0)
    assert.doesNotMatch(stdout + stderr, /my-own-operator-key|ps_live_/)
  })
})

describe('/metrics', () => {
  const service = useService()

  const proxied = { 'x-forwarded-for': '203.0.113.5' }
  const visits: {
    name: string
    key?: () => Promise<string>
    headers: Record<string, string>
    status: number
  }[] = [
    { name: 'this machine, without a key', headers: {}, status: 401 },
    {
      name: 'this machine with the operator key',
      key: async () => service.operatorKey,
      headers: {},
      status: 200,
    },
    { name: 'a proxy on this machine, without a key', headers: proxied, status: 401 },
    { name: 'another kind of proxy, without a key', headers: { forwarded: 'for=203.0.113.5' }, status: 401 },
    {
      name: 'another machine with the operator key',
      key: async () => service.operatorKey,
      headers: proxied,
      status: 200,
    },
    {
      name: 'another machine with a key without keys:manage',
      key: async () => (await service.makeKey()).key,
      headers: proxied,
      status: 403,
    },
  ]
  for (const { name, key, headers, status } of visits) {
    test(`returns ${status} to ${name}`, async () => {
      const response = await service.request('GET', '/metrics', { key: await key?.(), headers })
      assert.equal(response.status, status)
      assert.equal(/petstore_request_duration_seconds/.test(response.text), status === 200)
      assert.equal(response.headers['x-ratelimit-limit'], undefined)
    })
  }
})

test('the operator key is shown at the first start only, with a working curl command', async () => {
  const first = await startServer()
  const line = /curl -H "Authorization: (Bearer \S+)" (http:\S+)/.exec(first.output.stdout)
  assert.ok(line, first.output.stdout)
  const response = await fetch(line[2] as string, { headers: { Authorization: line[1] as string } })
  assert.equal(response.status, 200)
  first.closeConnections()
  first.child.kill('SIGTERM')
  const { stderr } = await first.ended
  assert.ok(!stderr.includes(String(first.operatorKey)))

  const second = await startServer(first.databaseEnv)
  try {
    assert.equal(second.operatorKey, undefined)
    assert.equal((await second.request('GET', '/v1/keys', { key: first.operatorKey })).status, 200)
  } finally {
    second.closeConnections()
    second.child.kill('SIGTERM')
    await second.ended
    await removeDatabase(first.databaseEnv)
  }
})

test('staging keys start with ps_test_', async () => {
  const service = await startTestService({ PETSTORE_ENV: 'staging' })
  try {
    assert.match(service.operatorKey, /^ps_test_/)
    const { id, key } = await service.makeKey()
    assert.match(key, /^ps_test_/)
    const rotated = await service.request('POST', `/v1/keys/${id}/rotate`, { key: service.operatorKey })
    assert.match(rotated.json.key, /^ps_test_/)
    assert.equal((await service.request('GET', '/v1/pets', { key: rotated.json.key })).status, 200)
  } finally {
    await service.stop()
  }
})
