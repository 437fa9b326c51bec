import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { scopes } from '../../src/keys/key.ts'
import { createOperations } from '../../src/operations.ts'
import { createTargets, exampleRequest, withTargets } from '../support/operationTargets.ts'
import { useService } from '../support/useService.ts'

// Webhooks of the examples are not delivered: no name server answers.
const service = useService({}, { nameServers: ['127.0.0.1:9'] })

/** The definitions. Nothing is called here, so they need no dependencies. */
const unused = {} as never
const operations = createOperations({
  ...{ database: unused, apiKeyCache: unused, rateLimiter: unused, broadcaster: unused, flushUsage: unused },
  ...{ decoder: unused, wakeImporter: unused },
  config: readConfig({}),
})

describe('an operation requires its scope and no other', () => {
  for (const { id, method, path, scope } of operations) {
    test(`${id}: ${scope ?? 'none'}`, async () => {
      const target = `/v1${withTargets(path, await createTargets(service, path))}`
      const example = await exampleRequest(service, id)
      const others = scopes.filter((other) => other !== scope)
      const without = await service.makeKey({ scopes: others })
      const rejected = await service.request(method, target, { key: without.key, ...example })
      if (scope === undefined) {
        assert.equal(rejected.status, 200)
      } else {
        assert.equal(rejected.status, 403)
        assert.equal(rejected.json.code, 'insufficient_scope')
        assert.match(rejected.json.message, new RegExp(`"${scope}"`))
      }
      const { key } = await service.makeKey({ scopes: scope === undefined ? [] : [scope] })
      const allowed = await service.request(method, target, { key, ...example })
      assert.ok(allowed.status >= 200 && allowed.status < 300, `${allowed.status} ${allowed.text}`)
    })
  }
})

test('HEAD requires the same scope as GET', async () => {
  const { key } = await service.makeKey({ scopes: ['pets:write'] })
  assert.equal((await service.request('HEAD', '/v1/pets', { key })).status, 403)
})

test('a new key has the pets, categories and orders scopes; a publishable one reads pets and categories', async () => {
  const secret = await service.request('POST', '/v1/keys', {
    key: service.operatorKey,
    body: { name: 'a' },
  })
  assert.deepEqual(
    secret.json.scopes,
    scopes.filter((scope) => /^(?:pets|categories|orders):/.test(scope)),
  )
  const publishable = await service.request('POST', '/v1/keys', {
    key: service.operatorKey,
    body: { name: 'b', origins: ['https://shelter.example'] },
  })
  assert.deepEqual(publishable.json.scopes, ['pets:read', 'categories:read'])
})

test('the operator key has every scope and the enterprise plan', async () => {
  const { json } = await service.request('GET', '/v1/keys/1', { key: service.operatorKey })
  assert.deepEqual(json.scopes, [...scopes])
  assert.equal(json.plan, 'enterprise')
})
