import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { removeDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { runPetstore, startServer } from '../support/process.ts'
import { useService } from '../support/useService.ts'

const service = useService({ PETSTORE_BAN_AFTER_REFUSALS: '3' })

const manage = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  service.request(method, `/v1/keys${path}`, { key: service.operatorKey, headers, body })
const use = (key: string) => service.request('GET', '/v1/pets', { key })
const timestamp = (ms: number) => new Date(ms).toISOString()

describe('the keys resource', () => {
  test('the secret of a key is shown only when the key is created', async () => {
    const made = await manage('POST', '', { name: 'Web site' })
    assert.equal(made.status, 201)
    const { key, ...shown } = made.json
    assert.match(key, /^ps_live_[0-9A-Za-z]{36}$/)
    assert.equal(made.headers.location, `/v1/keys/${shown.id}`)
    assert.deepEqual(shown, {
      id: shown.id,
      name: 'Web site',
      plan: 'free',
      scopes: [
        'pets:read',
        'pets:write',
        'categories:read',
        'categories:write',
        'orders:read',
        'orders:write',
      ],
      origins: [],
      createdAt: timestamp(service.now()),
      lastUsedAt: null,
    })
    assert.deepEqual((await manage('GET', `/${shown.id}`)).json, shown)
    const listed = await manage('GET', '?limit=1')
    assert.deepEqual(listed.json, [shown])
    const changed = await manage('PATCH', `/${shown.id}`, { name: 'Shop' })
    assert.deepEqual(changed.json, { ...shown, name: 'Shop' })
  })

  test('a key shows all of its settings', async () => {
    const settings = {
      name: 'Partner',
      plan: 'enterprise',
      limits: { perMinute: 5, perDay: 50, streams: 5 },
      scopes: ['pets:read', 'events:read'],
      origins: ['https://shelter.example', 'http://localhost:3000'],
      expiresAt: timestamp(service.now() + 3_600_000),
    }
    const { json } = await manage('POST', '', settings)
    for (const [field, value] of Object.entries(settings)) assert.deepEqual(json[field], value)
  })

  test('a key shows when it was last used', async () => {
    const { id, key } = await service.makeKey()
    service.advance(1_500)
    await use(key)
    assert.equal((await manage('GET', `/${id}`)).json.lastUsedAt, timestamp(service.now()))
    assert.equal((await manage('GET', '?limit=1')).json[0].lastUsedAt, timestamp(service.now()))
  })

  test('a revoked key is rejected immediately and stays in the list', async () => {
    const { id, key } = await service.makeKey()
    assert.equal((await use(key)).status, 200)
    const revoked = await manage('DELETE', `/${id}`)
    assert.equal(revoked.status, 204)
    assert.equal(revoked.text, '')
    assert.equal((await use(key)).status, 401)
    const revokedAt = timestamp(service.now())
    assert.equal((await manage('GET', `/${id}`)).json.revokedAt, revokedAt)
    service.advance(1_000)
    assert.equal((await manage('DELETE', `/${id}`)).status, 204)
    assert.equal((await manage('GET', `/${id}`)).json.revokedAt, revokedAt)
  })

  test('an expiry can be moved and removed', async () => {
    const { id, key } = await service.makeKey({ expiresAt: timestamp(service.now() + 1_000) })
    service.advance(999)
    assert.equal((await use(key)).status, 200)
    service.advance(1)
    assert.equal((await use(key)).status, 401)
    await manage('PATCH', `/${id}`, { expiresAt: timestamp(service.now() + 1_000) })
    assert.equal((await use(key)).status, 200)
    await manage('PATCH', `/${id}`, { expiresAt: null })
    service.advance(1_000)
    assert.equal((await use(key)).status, 200)
    assert.ok(!('expiresAt' in (await manage('GET', `/${id}`)).json))
  })

  test('scopes take effect immediately', async () => {
    const { id, key } = await service.makeKey()
    assert.equal((await use(key)).status, 200)
    await manage('PATCH', `/${id}`, { scopes: ['pets:write'] })
    assert.equal((await use(key)).status, 403)
    await manage('PATCH', `/${id}`, { scopes: ['pets:read'] })
    assert.equal((await use(key)).status, 200)
  })

  test('a plan takes effect immediately, in the current window', async () => {
    const { id, key } = await service.makeKey()
    for (let i = 0; i < 60; i++) await use(key)
    assert.equal((await use(key)).status, 429)
    await manage('PATCH', `/${id}`, { plan: 'pro' })
    const raised = await use(key)
    assert.equal(raised.status, 200)
    assert.equal(raised.headers['x-ratelimit-limit'], '300')
    assert.equal(raised.headers['x-ratelimit-remaining'], '239')
    await manage('PATCH', `/${id}`, { plan: 'enterprise', limits: { perMinute: 62 } })
    assert.equal((await use(key)).headers['x-ratelimit-remaining'], '0')
    assert.equal((await use(key)).status, 429)
    await manage('PATCH', `/${id}`, { plan: 'free' })
    const lowered = await use(key)
    assert.equal(lowered.status, 429)
    assert.equal(lowered.headers['x-ratelimit-limit'], '60')
    assert.equal(lowered.headers['x-ratelimit-remaining'], '0')
  })
})

describe('rotation', () => {
  const rotate = async (id: number, body?: unknown) => {
    const response = await manage('POST', `/${id}/rotate`, body)
    assert.equal(response.status, 200)
    assert.equal(response.json.id, id)
    return response.json.key as string
  }
  const works = async (key: string) => (await service.request('GET', '/v1/limits', { key })).status === 200

  for (const body of [undefined, {}, { overlapSeconds: 0 }]) {
    test(`with ${JSON.stringify(body) ?? 'no body'} the previous secret ends immediately`, async () => {
      const { id, key: old } = await service.makeKey()
      const fresh = await rotate(id, body)
      assert.notEqual(fresh, old)
      assert.equal(await works(fresh), true)
      assert.equal(await works(old), false)
    })
  }

  test('the previous secret is valid until the overlap ends, exact to the millisecond', async () => {
    const { id, key: old } = await service.makeKey()
    const fresh = await rotate(id, { overlapSeconds: 60 })
    service.advance(59_999)
    assert.deepEqual([await works(old), await works(fresh)], [true, true])
    service.advance(1)
    assert.deepEqual([await works(old), await works(fresh)], [false, true])
    const rejected = await use(old)
    assert.match(rejected.json.message, /rotated/)
  })

  test('both secrets share the rate limits of the key', async () => {
    const { id, key: old } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 4 } })
    await use(old)
    const fresh = await rotate(id, { overlapSeconds: 60 })
    assert.equal((await use(fresh)).headers['x-ratelimit-remaining'], '2')
    assert.equal((await use(old)).headers['x-ratelimit-remaining'], '1')
    assert.equal((await use(fresh)).headers['x-ratelimit-remaining'], '0')
    assert.equal((await use(old)).status, 429)
    assert.equal((await use(fresh)).status, 429)
  })

  test('a key never has more than two valid secrets', async () => {
    const { id, key } = await service.makeKey()
    const secrets = [key]
    for (let i = 0; i < 14; i++) {
      // Some rotations fall into the same millisecond.
      if (i % 3 === 0) service.advance(1)
      secrets.push(await rotate(id, { overlapSeconds: 3_600 }))
      const alive = await Promise.all(secrets.map(works))
      assert.deepEqual(
        alive,
        secrets.map((_, index) => index >= secrets.length - 2),
      )
    }
    service.advance(3_600_000)
    assert.deepEqual(
      await Promise.all(secrets.map(works)),
      secrets.map((_, index) => index === secrets.length - 1),
    )
  })

  test('a later rotation does not extend the validity of an older secret', async () => {
    const { id, key: oldest } = await service.makeKey()
    await rotate(id, { overlapSeconds: 10 })
    await rotate(id, { overlapSeconds: 1_000 })
    assert.equal(await works(oldest), false)
  })

  test('a revocation ends both secrets, and a revoked key cannot be rotated', async () => {
    const { id, key: old } = await service.makeKey()
    const fresh = await rotate(id, { overlapSeconds: 60 })
    await manage('DELETE', `/${id}`)
    assert.deepEqual([await works(old), await works(fresh)], [false, false])
    const again = await manage('POST', `/${id}/rotate`)
    assert.equal(again.status, 409)
    assert.deepEqual(again.json, {
      code: 'illegal_transition',
      message: 'This API key is revoked. Revocation is permanent: create a new key.',
      status: 409,
    })
    assert.deepEqual([await works(old), await works(fresh)], [false, false])
  })

  test('a rotation that is retried with the same Idempotency-Key returns the same secret', async () => {
    const { id } = await service.makeKey()
    const headers = { 'Idempotency-Key': `rotate-${id}` }
    const first = await manage('POST', `/${id}/rotate`, { overlapSeconds: 60 }, headers)
    const second = await manage('POST', `/${id}/rotate`, { overlapSeconds: 60 }, headers)
    assert.equal(second.headers['idempotent-replayed'], 'true')
    assert.equal(second.json.key, first.json.key)
    assert.equal(await works(first.json.key), true)
  })
})

describe('pages of keys', () => {
  test('list every key once, newest first, without secrets', async () => {
    const made: number[] = []
    for (let i = 0; i < 25; i++) made.unshift((await service.makeKey({ name: `page ${i}` })).id)
    const seen: number[] = []
    let path: string | undefined = '?limit=10'
    while (path !== undefined) {
      const page = await manage('GET', path)
      assert.equal(page.status, 200)
      assert.ok(page.json.length <= 10)
      assert.doesNotMatch(page.text, /ps_live_[0-9A-Za-z]/)
      seen.push(...page.json.map(({ id }: { id: number }) => id))
      path = /<\/v1\/keys([^>]+)>; rel="next"/.exec(String(page.headers.link))?.[1]
      // A key created during the listing comes before all pages.
      if (seen.length === 10) await service.makeKey({ name: 'created during the listing' })
    }
    assert.deepEqual(seen.slice(0, 25), made)
    assert.equal(new Set(seen).size, seen.length)
    assert.equal(seen.at(-1), 1)
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => b - a),
    )
  })
})

test('a key can be used again as soon as the operator lifts its ban', async () => {
  const { id, key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
  for (let i = 0; i < 3; i++) await use(key)
  const banned = await use(key)
  assert.equal(banned.json.code, 'key_banned')
  assert.equal((await manage('GET', `/${id}`)).json.bannedUntil, timestamp(service.now() + 300_000))
  service.advance(60_000)
  assert.equal((await use(key)).json.code, 'key_banned')
  const lifted = await manage('DELETE', `/${id}/ban`)
  assert.equal(lifted.status, 204)
  assert.ok(!('bannedUntil' in (await manage('GET', `/${id}`)).json))
  assert.equal((await use(key)).status, 200)
  assert.equal((await manage('DELETE', `/${id}/ban`)).status, 204)
})

describe('changes by another process take effect', () => {
  let server: Awaited<ReturnType<typeof startServer>>
  before(async () => {
    server = await startServer({ PETSTORE_BAN_AFTER_REFUSALS: '1' })
  })
  after(async () => {
    server.closeConnections()
    server.child.kill('SIGTERM')
    await server.ended
    await removeDatabase(server.databaseEnv)
  })

  const promisedMs = 2_000
  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await runPetstore(['keys', ...args, '--json'], server.databaseEnv)
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  /** Exempt from the rate limit, so that polling uses nothing up. */
  const limits = (key: string) => server.request('GET', '/v1/limits', { key })

  test('a new key works', async () => {
    const { key } = await command('create', '--name', 'made beside')
    await eventually('the new key works', async () => (await limits(key)).status === 200, promisedMs)
  })

  test('a changed plan applies', async () => {
    const { id, key } = await command('create', '--name', 'changed beside')
    await eventually('the new key works', async () => (await limits(key)).status === 200, promisedMs)
    await command('update', String(id), '--plan', 'pro')
    await eventually('the plan counts', async () => (await limits(key)).json.plan === 'pro', promisedMs)
    assert.equal((await limits(key)).json.minute.limit, 300)
  })

  test('a new secret replaces the previous one', async () => {
    const { id, key } = await command('create', '--name', 'rotated beside')
    await eventually('the new key works', async () => (await limits(key)).status === 200, promisedMs)
    const rotated = await command('rotate', String(id))
    await eventually('the old secret ends', async () => (await limits(key)).status === 401, promisedMs)
    assert.equal((await limits(rotated.key)).status, 200)
  })

  test('a revoked key is rejected', async () => {
    const { id, key } = await command('create', '--name', 'revoked beside')
    await eventually('the new key works', async () => (await limits(key)).status === 200, promisedMs)
    await command('revoke', String(id))
    await eventually('the key is rejected', async () => (await limits(key)).status === 401, promisedMs)
  })

  test('a lifted ban ends', async () => {
    const { id, key } = await command(
      'create',
      '--name',
      'tight',
      '--plan',
      'enterprise',
      '--per-minute',
      '1',
    )
    await eventually('the new key works', async () => (await limits(key)).status === 200, promisedMs)
    await server.request('GET', '/v1/pets', { key })
    assert.equal((await server.request('GET', '/v1/pets', { key })).json.code, 'key_banned')
    await command('unban', String(id))
    await eventually('the ban is over', async () => (await limits(key)).json.bannedUntil === null, promisedMs)
  })

  test('a new origin is accepted', async () => {
    const origin = 'https://beside.example'
    const preflight = () => server.request('OPTIONS', '/v1/pets', { headers: { origin } })
    assert.equal((await preflight()).headers['access-control-allow-origin'], undefined)
    await command('create', '--name', 'publishable', '--origin', origin)
    await eventually(
      'the origin is known',
      async () => (await preflight()).headers['access-control-allow-origin'] === origin,
      promisedMs,
    )
  })
})
