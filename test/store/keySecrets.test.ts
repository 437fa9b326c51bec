import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateApiKey, hashApiKey, isWellFormedApiKey } from '../../src/auth/apiKey.ts'
import { ApiKeyCache } from '../../src/auth/apiKeyCache.ts'
import { databaseFor, databaseText, openTestDatabase } from '../support/engine.ts'
import { amplePlan } from '../support/responses.ts'
import { startTestService } from '../support/service.ts'

test('a key with a wrong checksum is rejected without a database query', async (t) => {
  const database = await openTestDatabase(await databaseFor(t))
  const cache = new ApiKeyCache(database, 'production')
  await database.close()
  const key = generateApiKey('production')
  const damaged = key.slice(0, -1) + (key.endsWith('x') ? 'y' : 'x')
  assert.equal(await cache.find(damaged, 0), undefined)
  // The database is closed, so a query would fail.
  await assert.rejects(async () => cache.find(key, 0))
})

test('the database stores only the SHA-256 of a key, and the log contains nothing of it', async () => {
  const service = await startTestService()
  try {
    const secrets = [service.operatorKey]
    const { id, key } = await service.makeKey({ scopes: ['pets:read', 'pets:write', 'keys:manage'] })
    secrets.push(key)
    const rotated = await service.request('POST', `/v1/keys/${id}/rotate`, {
      key: service.operatorKey,
      headers: { 'Idempotency-Key': 'rotate-once' },
      body: { overlapSeconds: 60 },
    })
    secrets.push(rotated.json.key)
    const made = await service.request('POST', '/v1/keys', {
      key: service.operatorKey,
      headers: { 'Idempotency-Key': 'make-once' },
      body: { name: 'idempotency record' },
    })
    secrets.push(made.json.key)
    for (const secret of secrets) {
      assert.ok(isWellFormedApiKey(secret))
      // All places in which a client might put a secret by mistake.
      await service.request('GET', '/v1/pets', { key: secret })
      await service.request('GET', `/v1/pets?api_key=${secret}`, { key: secret })
      await service.request('GET', `/v1/${secret}`, { key: secret })
      await service.request('GET', `/v1/pets/${secret}`, { headers: { authorization: secret } })
      await service.request('GET', '/v1/pets', { key: secret, headers: { 'X-Request-Id': secret } })
      await service.request('GET', '/v1/pets', { headers: { authorization: `Basic ${secret}` } })
      await service.request('POST', '/v1/pets', { key: secret, body: `{"name": "${secret}` })
    }
    const rejected = await service.request('GET', `/v1/keys/${id}`, { key: `${secrets[1]}x` })
    assert.equal(rejected.status, 401)

    const before = await databaseText(service.databaseEnv)
    await service.restart()
    const after = await databaseText(service.databaseEnv)
    for (const secret of secrets) {
      for (const stored of [before, after])
        assert.ok(!stored.includes(secret.slice(8)), 'the database contains a secret in plain text')
      assert.ok(before.includes(hashApiKey(secret)))
      assert.ok(!service.logLines.join('').includes(secret.slice(8)), 'the log has a secret in the clear')
    }
    assert.ok(service.logLines.length > 0)
  } finally {
    await service.stop()
  }
})

test('a rotation ends no secret in use, also if the clock was different at earlier rotations', async (t) => {
  const service = await startTestService()
  t.after(() => service.stop())
  const statusOf = async (key: string) => (await service.request('GET', '/v1/pets', { key })).status
  const { id, key } = await service.makeKey(amplePlan)
  const secrets = [key]
  // The clock of a command, or of another instance, can differ: here it is up to 10 s ahead of or behind the last one.
  for (const aheadMs of [10_000, -10_000, 0, 10_000, -20_000, 10_000, 0]) {
    service.advance(aheadMs)
    const rotated = await service.request('POST', `/v1/keys/${id}/rotate`, {
      key: service.operatorKey,
      body: { overlapSeconds: 60 },
    })
    assert.equal(rotated.status, 200, rotated.text)
    secrets.push(rotated.json.key)
    const [newest, previous, ...older] = secrets.toReversed()
    assert.equal(await statusOf(newest as string), 200, 'the new secret')
    assert.equal(await statusOf(previous as string), 200, 'the secret that was current until then')
    for (const secret of older) assert.equal(await statusOf(secret), 401, 'an older secret')
  }
})
