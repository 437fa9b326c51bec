import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { byService } from '../../src/audit/audit.ts'
import { ApiKeyCache } from '../../src/auth/apiKeyCache.ts'
import { createKey } from '../../src/keys/queries.ts'
import type { ClientResponse } from '../support/client.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { type Node, operationsOf, readDocument, resolve } from '../support/openapi.ts'
import { useService } from '../support/useService.ts'

const home = 'https://shelter.example'
const secondHome = 'http://localhost:3000'
const otherHome = 'https://other-shelter.example'
const unknownOrigin = 'https://unknown.example'

const service = useService()
let publishable: string
let secret: string
before(async () => {
  publishable = (await service.makeKey({ origins: [home, secondHome] })).key
  await service.makeKey({ origins: [otherHome] })
  secret = (await service.makeKey()).key
})
// One minute per test, so that no test is affected by the windows of another.
beforeEach(() => service.advance(60_000))

const corsHeaders = ({ headers }: ClientResponse) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'))
const list = (header: unknown) => String(header).split(', ')
/** Response headers that the Fetch standard lets every page read. */
const safelisted = ['Cache-Control', 'Content-Length', 'Content-Type', 'Expires', 'Last-Modified']
const allMethods = ['GET', 'POST', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

function assertReadable(response: ClientResponse, origin: string) {
  assert.equal(response.headers['access-control-allow-origin'], origin)
  assert.match(String(response.headers.vary), /\bOrigin\b/)
  assert.equal(response.headers['access-control-allow-credentials'], undefined)
}

function assertUnreadable(response: ClientResponse) {
  assert.deepEqual(corsHeaders(response), [])
  assert.match(String(response.headers.vary), /\bOrigin\b/)
}

describe('a request', () => {
  const scenarios: {
    name: string
    key: () => string | undefined
    origin?: string
    path?: string
    method?: string
    status: number
    code?: string
    readableBy?: string
  }[] = [
    {
      name: 'of a publishable key from its origin',
      key: () => publishable,
      origin: home,
      status: 200,
      readableBy: home,
    },
    {
      name: 'of a publishable key from its second origin',
      key: () => publishable,
      origin: secondHome,
      status: 200,
      readableBy: secondHome,
    },
    {
      name: 'of a publishable key from the origin of another key',
      key: () => publishable,
      origin: otherHome,
      status: 403,
      code: 'origin_not_allowed',
    },
    {
      name: 'of a publishable key from an unknown origin',
      key: () => publishable,
      origin: unknownOrigin,
      status: 403,
      code: 'origin_not_allowed',
    },
    {
      name: 'of a publishable key from no origin',
      key: () => publishable,
      status: 403,
      code: 'origin_not_allowed',
    },
    {
      name: 'of a publishable key from an opaque origin',
      key: () => publishable,
      origin: 'null',
      status: 403,
      code: 'origin_not_allowed',
    },
    {
      name: 'of a publishable key from its origin in other letters',
      key: () => publishable,
      origin: home.toUpperCase(),
      status: 403,
      code: 'origin_not_allowed',
    },
    {
      name: 'of a publishable key from a longer host',
      key: () => publishable,
      origin: `${home}.evil.example`,
      status: 403,
      code: 'origin_not_allowed',
    },
    {
      name: 'of a publishable key from another port',
      key: () => publishable,
      origin: `${home}:8443`,
      status: 403,
      code: 'origin_not_allowed',
    },
    { name: 'of a secret key from no origin', key: () => secret, status: 200 },
    { name: 'of a secret key from an unknown origin', key: () => secret, origin: unknownOrigin, status: 200 },
    { name: 'of a secret key from the origin of another key', key: () => secret, origin: home, status: 200 },
    {
      name: 'without a key from a known origin',
      key: () => undefined,
      origin: home,
      status: 401,
      code: 'missing_api_key',
      readableBy: home,
    },
    {
      name: 'with a wrong key from a known origin',
      key: () => 'nonsense',
      origin: home,
      status: 401,
      code: 'invalid_api_key',
      readableBy: home,
    },
    {
      name: 'without a key from an unknown origin',
      key: () => undefined,
      origin: unknownOrigin,
      status: 401,
      code: 'missing_api_key',
    },
    {
      name: 'that is not found',
      key: () => publishable,
      origin: home,
      path: '/v1/nowhere',
      status: 404,
      code: 'not_found',
      readableBy: home,
    },
    {
      name: 'that is not valid',
      key: () => publishable,
      origin: home,
      path: '/v1/pets?limit=0',
      status: 400,
      code: 'validation_failed',
      readableBy: home,
    },
    {
      name: 'with a method that its path does not take',
      key: () => publishable,
      origin: home,
      method: 'DELETE',
      status: 405,
      code: 'method_not_allowed',
      readableBy: home,
    },
    {
      name: 'that a publishable key has no scope for',
      key: () => publishable,
      origin: home,
      method: 'POST',
      status: 403,
      code: 'insufficient_scope',
      readableBy: home,
    },
  ]

  for (const {
    name,
    key,
    origin,
    path = '/v1/pets',
    method = 'GET',
    status,
    code,
    readableBy,
  } of scenarios) {
    test(`${name} gets ${status}, ${readableBy ? 'for that origin to read' : 'for no origin to read'}`, async () => {
      const response = await service.request(method, path, {
        key: key(),
        headers: origin === undefined ? {} : { origin },
      })
      assert.equal(response.status, status)
      assert.equal(response.json.code, code)
      if (readableBy === undefined) assertUnreadable(response)
      else assertReadable(response, readableBy)
    })
  }

  test('that exceeds its rate limit can be read by the origin of its key, and by no other', async () => {
    const { key } = await service.makeKey({ origins: [home], plan: 'enterprise', limits: { perMinute: 1 } })
    const send = (origin: string) => service.request('GET', '/v1/pets', { key, headers: { origin } })
    await send(home)
    const rejected = await send(home)
    assert.equal(rejected.status, 429)
    assertReadable(rejected, home)
    assert.ok(list(rejected.headers['access-control-expose-headers']).includes('Retry-After'))
    assertUnreadable(await send(otherHome))
  })

  test('from the wrong origin is counted for the address, and can be read by no origin', async () => {
    const { key } = await service.makeKey({ origins: [home], plan: 'enterprise', limits: { perMinute: 5 } })
    for (const origin of [unknownOrigin, otherHome]) {
      const response = await service.request('GET', '/v1/pets', { key, headers: { origin } })
      assert.equal(response.status, 403)
      assert.equal(response.headers['x-ratelimit-limit'], '100')
      assertUnreadable(response)
    }
    const admitted = await service.request('GET', '/v1/pets', { key, headers: { origin: home } })
    assert.equal(admitted.headers['x-ratelimit-remaining'], '4')
  })

  test('lets a browser read every header that the interface promises', async () => {
    const response = await service.request('GET', '/v1/pets', { key: publishable, headers: { origin: home } })
    const exposed = list(response.headers['access-control-expose-headers'])
    for (const name of [
      'Allow',
      'Deprecation',
      'ETag',
      'Idempotent-Replayed',
      'Last-Event-Id',
      'Link',
      'Location',
      'RateLimit',
      'RateLimit-Policy',
      'Retry-After',
      'Sunset',
      'WWW-Authenticate',
      'X-Content-Type-Options',
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'X-Request-Id',
      'X-Stability',
    ]) {
      assert.ok(exposed.includes(name), name)
    }
  })

  test('lets a browser read every header that OpenAPI describes', async () => {
    const clientResponse = await service.request('GET', '/v1/pets', {
      key: publishable,
      headers: { origin: home },
    })
    const readable = [...list(clientResponse.headers['access-control-expose-headers']), ...safelisted]
    const document = readDocument('openapi.json')
    const described = operationsOf(document).flatMap(({ operation }) =>
      Object.values(operation.responses as Node).flatMap((response) =>
        Object.keys(resolve(document, response as Node).headers ?? {}),
      ),
    )
    assert.ok(described.length > 0)
    assert.deepEqual(
      [...new Set(described)].filter((name) => !readable.includes(name)),
      [],
    )
  })
})

describe('a preflight', () => {
  const preflight = (origin: string | undefined, path = '/v1/pets', method = 'GET') =>
    service.request('OPTIONS', path, {
      headers: {
        ...(origin !== undefined && { origin }),
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization',
      },
    })

  for (const origin of [home, secondHome, otherHome]) {
    test(`from ${origin}, which a key is locked to, succeeds`, async () => {
      const response = await preflight(origin)
      assert.equal(response.status, 204)
      assert.equal(response.text, '')
      assertReadable(response, origin)
      assert.equal(response.headers.allow, 'GET, POST, HEAD, OPTIONS')
      assert.deepEqual(list(response.headers['access-control-allow-methods']), allMethods)
      for (const name of [
        'Authorization',
        'Content-Type',
        'Idempotency-Key',
        'If-Match',
        'If-None-Match',
        'Last-Event-ID',
        'Prefer',
        'X-Request-Id',
      ]) {
        assert.ok(list(response.headers['access-control-allow-headers']).includes(name), name)
      }
      assert.match(String(response.headers['access-control-max-age']), /^\d+$/)
    })
  }

  for (const origin of [unknownOrigin, 'null', undefined, '*', `${home}/`, `${home}, ${unknownOrigin}`]) {
    test(`from ${origin ?? 'no origin'}, which no key is locked to, allows nothing`, async () => {
      const response = await preflight(origin)
      assert.equal(response.status, 204)
      assert.equal(response.headers.allow, 'GET, POST, HEAD, OPTIONS')
      assertUnreadable(response)
    })
  }

  test('names the methods of its path in Allow, and allows every method, so that a 405 can be read', async () => {
    const response = await preflight(home, '/v1/pets/1', 'POST')
    assert.equal(response.status, 204)
    assert.deepEqual(list(response.headers.allow).toSorted(), ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH'])
    assert.deepEqual(list(response.headers['access-control-allow-methods']), allMethods)
  })

  for (const path of ['/v1/nowhere', '/v1/pets/1/nowhere', '/v1', '/v1/pets/']) {
    test(`of ${path}, which is not there, succeeds, so that its 404 can be read`, async () => {
      const response = await preflight(home, path, 'DELETE')
      assert.equal(response.status, 204)
      assertReadable(response, home)
      assert.equal(response.headers.allow, undefined)
      assert.deepEqual(list(response.headers['access-control-allow-methods']), allMethods)
      assert.ok(list(response.headers['access-control-allow-headers']).includes('Authorization'))
      const request = { key: publishable, headers: { origin: home } }
      const missing = await service.request('DELETE', path, request)
      assert.equal(missing.status, 404)
      assertReadable(missing, home)
    })
  }

  test('of a path that is not there is 404 from an unknown origin, and where it is no preflight', async () => {
    const plain = await service.request('OPTIONS', '/v1/nowhere', { headers: { origin: home } })
    for (const response of [
      await preflight(unknownOrigin, '/v1/nowhere'),
      await preflight(undefined, '/v1/nowhere'),
      plain,
    ]) {
      assert.equal(response.status, 404)
      assert.equal(response.json.code, 'not_found')
    }
    assertReadable(plain, home)
  })

  test('costs nothing, needs no key and still has the rate headers', async () => {
    for (let i = 0; i < 5; i++) {
      const response = await preflight(home)
      assert.equal(response.headers['x-ratelimit-limit'], '100')
      assert.equal(response.headers['x-ratelimit-remaining'], '100')
      assert.match(String(response.headers['x-ratelimit-reset']), /^\d+$/)
    }
  })
})

test('an origin is known as long as a key is locked to it', async () => {
  const origin = 'https://passing.example'
  const isKnown = async () =>
    (await service.request('OPTIONS', '/v1/pets', { headers: { origin } })).headers[
      'access-control-allow-origin'
    ] === origin
  const manage = (method: string, path: string, body?: unknown) =>
    service.request(method, path, { key: service.operatorKey, body })
  assert.equal(await isKnown(), false)
  const first = await service.makeKey({ origins: [origin] })
  const second = await service.makeKey({ origins: [home, origin] })
  assert.equal(await isKnown(), true)
  await manage('DELETE', `/v1/keys/${first.id}`)
  assert.equal(await isKnown(), true)
  await manage('PATCH', `/v1/keys/${second.id}`, { origins: [home] })
  assert.equal(await isKnown(), false)
})

test('a database that could not be read for a moment does not make origins unknown for longer', async (t) => {
  const { database } = await openDatabaseFor(t)
  const directory = new ApiKeyCache(database, 'production')
  const rename = (from: string, to: string) =>
    database.write((trx) => trx.schema.alterTable(from).renameTo(to).execute())
  await rename('api_keys', 'out_of_reach')
  await assert.rejects(directory.isKnownOrigin(home))
  await rename('out_of_reach', 'api_keys')
  assert.equal(await directory.isKnownOrigin(home), false)
})

test('an origin that was known is known while the database cannot be read, so that its 503 can be read', async (t) => {
  const { database } = await openDatabaseFor(t)
  const directory = new ApiKeyCache(database, 'production')
  const settings = {
    name: 'page',
    plan: 'free',
    limits: undefined,
    scopes: [],
    expiresAt: undefined,
  } as const
  await database.write((trx) => createKey(trx, { ...settings, origins: [home] }, 'production', byService(0)))
  assert.equal(await directory.isKnownOrigin(home), true)
  await database.write((trx) => trx.schema.alterTable('api_keys').renameTo('out_of_reach').execute())
  directory.invalidate()
  assert.equal(await directory.isKnownOrigin(home), true)
  assert.equal(await directory.isKnownOrigin(unknownOrigin), false)
})
