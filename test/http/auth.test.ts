import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { generateApiKey } from '../../src/auth/apiKey.ts'
import { ConfigError, readConfig } from '../../src/config.ts'
import { getPetDeprecation } from '../../src/pets/routes.ts'
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
  const status = async (service: TestService, key: string) =>
    (await service.request('GET', '/v1/keys', { key })).status

  test('can be a key that was generated by another instance', async () => {
    const key = generateApiKey('production')
    const service = await startTestService({ PETSTORE_ADMIN_KEY: key })
    try {
      assert.equal(await status(service, key), 200)
    } finally {
      await service.stop()
    }
  })

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
