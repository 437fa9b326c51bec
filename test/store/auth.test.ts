import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { generateApiKey } from '../../src/auth/apiKey.ts'
import { contentsOf, databaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { runPetstore } from '../support/process.ts'
import { openRawConnection } from '../support/rawConnection.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const service = useService()

const manage = (method: string, path: string, body?: unknown) =>
  service.request(method, path, { key: service.operatorKey, ...(body !== undefined && { body }) })

// test/http/auth.test.ts has everything else that is rejected.
const rejected: { name: string; secret: () => string | Promise<string>; message: RegExp }[] = [
  {
    name: 'unknown',
    secret: () => generateApiKey('production'),
    message: /^This API key is not valid\. .* ps_live_\.$/,
  },
  {
    name: 'revoked',
    async secret() {
      const { id, key } = await service.makeKey()
      await manage('DELETE', `/v1/keys/${id}`)
      return key
    },
    message: /^This API key has been revoked\./,
  },
  {
    name: 'expired',
    async secret() {
      const expiresAt = new Date(service.now() + 1_000).toISOString()
      const { key } = await service.makeKey({ expiresAt })
      assert.equal((await service.request('GET', '/v1/pets', { key })).status, 200)
      service.advance(1_000)
      return key
    },
    message: /^This API key has expired\./,
  },
  {
    name: 'rotated',
    async secret() {
      const { id, key } = await service.makeKey()
      await manage('POST', `/v1/keys/${id}/rotate`)
      return key
    },
    message: /^This API key has been rotated\./,
  },
]
for (const { name, secret, message } of rejected) {
  test(`a key that is ${name} is rejected`, async () => {
    const response = await service.request('GET', '/v1/pets', { key: await secret() })
    assert.deepEqual([response.status, response.json.code], [401, 'invalid_api_key'])
    assert.match(response.json.message, message)
  })
}

test('the error for an existing key of the other environment names the environment', async () => {
  const staging = await startTestService({ PETSTORE_ENV: 'staging' })
  try {
    const { id, key } = await staging.makeKey()
    // A database belongs to one environment, so a key of the other can only have been imported.
    const exported = await runPetstore(['export'], {
      ...staging.databaseEnv,
      PETSTORE_ENV: 'staging',
    })
    const record = exported.stdout.split('\n').find((line) => line.startsWith(`{"type":"key","id":${id},`))
    const imported = await runPetstore(['import', '--with-keys'], service.databaseEnv, record)
    assert.equal(imported.code, 0, imported.stderr)
    const response = await service.request('GET', '/v1/pets', { key })
    assert.equal(response.status, 401)
    assert.equal(response.json.code, 'invalid_api_key')
    assert.match(
      response.json.message,
      /^This API key belongs to the staging environment\. Use a production key/,
    )
    assert.equal((await staging.request('GET', '/v1/pets', { key })).status, 200)
  } finally {
    await staging.stop()
  }
})

test('a database of one environment is rejected in the other and stays unchanged', async (t) => {
  const env = await databaseFor(t)
  const staging = { ...env, PETSTORE_ENV: 'staging' }
  assert.equal((await runPetstore(['keys', 'create', '--name', 'first'], staging)).code, 0)
  const before = await contentsOf(env)
  const message = /^This database belongs to the staging environment, but PETSTORE_ENV is production\./
  await assert.rejects(startTestService(env), { message })
  const { code, stderr } = await runPetstore(['import'], env, '{"name":"Milo","categoryId":3}')
  assert.equal(code, 1)
  assert.match(stderr, message)
  assert.deepEqual(await contentsOf(env), before)
})

describe('a key that changes while the body of its request is arriving', () => {
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

describe('the key that PETSTORE_ADMIN_KEY sets', () => {
  const first = 'my-own-operator-key-of-enough-length-1'
  const second = 'my-own-operator-key-of-enough-length-2'
  const own = useService({ PETSTORE_ADMIN_KEY: first })
  const status = async (at: TestService, key: string) => (await at.request('GET', '/v1/keys', { key })).status

  test('is the operator, and a changed value replaces it at the next start', async () => {
    assert.equal(await status(own, first), 200)
    await own.restart({ PETSTORE_ADMIN_KEY: second })
    assert.equal(await status(own, first), 401)
    assert.equal(await status(own, second), 200)
    const { json } = await own.request('GET', '/v1/keys', { key: second })
    assert.equal(json.length, 1)
    assert.equal(json[0].name, 'operator')
    assert.ok(!own.logLines.join('').includes('my-own-operator-key'))
    await own.restart()
  })

  test('can be added to a database that already has an operator key, and both work', async () => {
    await service.restart({ PETSTORE_ADMIN_KEY: first })
    assert.equal(await status(service, service.operatorKey), 200)
    assert.equal(await status(service, first), 200)
  })

  test('can be an existing key, whose settings stay unchanged', async () => {
    const { key } = await service.makeKey({ scopes: ['pets:read'] })
    await service.restart({ PETSTORE_ADMIN_KEY: key })
    assert.equal((await service.request('GET', '/v1/pets', { key })).status, 200)
    assert.equal(await status(service, key), 403)
  })

  const losses: { name: string; method: string; path: string; body?: () => unknown }[] = [
    { name: 'revoked', method: 'DELETE', path: '/v1/keys/1' },
    { name: 'rotated', method: 'POST', path: '/v1/keys/1/rotate' },
    { name: 'deprived of its scopes', method: 'PATCH', path: '/v1/keys/1', body: () => ({ scopes: [] }) },
    {
      name: 'restricted to an origin',
      method: 'PATCH',
      path: '/v1/keys/1',
      body: () => ({ origins: ['https://shelter.example'], scopes: ['pets:read'] }),
    },
    {
      name: 'given an expiry',
      method: 'PATCH',
      path: '/v1/keys/1',
      body: () => ({ expiresAt: new Date(own.now() + 1).toISOString() }),
    },
  ]
  for (const { name, method, path, body } of losses) {
    test(`manages keys again at the next start after it was ${name}`, async () => {
      const lost = await own.request(method, path, { key: first, body: body?.() })
      assert.ok(lost.status < 300, lost.text)
      own.advance(1)
      assert.notEqual(await status(own, first), 200)
      await own.restart()
      assert.equal(await status(own, first), 200)
    })
  }
})
