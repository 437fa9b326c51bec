import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inDatabase } from '../support/engine.ts'
import { adminKey, listAllItems, requestOk, sharedDatabase, startAll } from '../support/instances.ts'
import { type Server, serverFor } from '../support/servers.ts'

describe('ten processes that start together on an empty database', () => {
  const starters = 10

  async function startTogether(t: Parameters<typeof sharedDatabase>[0], more: Record<string, string>) {
    const { databaseEnv: env, owner } = await sharedDatabase(t, { isBare: true })
    const servers = await startAll(starters, () => serverFor(owner, { ...env, ...more }))
    const found = await inDatabase(env, async ({ read }) => ({
      versions: await read.selectFrom('schema_migrations').select('version').orderBy('version').execute(),
      keys: await read.selectFrom('api_keys').select(['name', 'from_setting']).execute(),
      secrets: await read.selectFrom('api_key_secrets').select('hash').execute(),
      events: await read.selectFrom('events').select('type').execute(),
    }))
    assert.ok(found.versions.length > 0)
    assert.deepEqual(
      found.versions.map(({ version }) => version),
      found.versions.map((_, index) => index + 1),
    )
    assert.equal(found.secrets.length, 1)
    assert.deepEqual(
      found.events.map(({ type }) => type),
      ['key.created'],
    )
    return { servers, keys: found.keys }
  }

  test('all start, migrate once, and have the operator key of the setting', async (t) => {
    const { servers, keys } = await startTogether(t, { PETSTORE_ADMIN_KEY: adminKey })
    assert.deepEqual(keys, [{ name: 'operator', from_setting: 1 }])
    for (const { operatorKey } of servers) assert.equal(operatorKey, undefined)
    for (const server of servers)
      await requestOk(server, 'POST', '/v1/pets', { name: 'From the start', categoryId: 3 })
    assert.equal((await listAllItems(servers[0] as Server, '/v1/pets')).length, starters)
  })

  test('all start, migrate once, and exactly one shows the new operator key, which all accept', async (t) => {
    const { servers, keys } = await startTogether(t, {})
    assert.deepEqual(keys, [{ name: 'operator', from_setting: 0 }])
    const shown = servers.flatMap(({ operatorKey }) => operatorKey ?? [])
    assert.equal(shown.length, 1)
    for (const server of servers) await requestOk(server, 'GET', '/v1/keys', undefined, shown[0])
  })
})

test('of two environments that start together on an empty database one gets it, and the other is rejected', async (t) => {
  for (let round = 0; round < 2; round++) {
    const { databaseEnv, owner } = await sharedDatabase(t, { isBare: true })
    const environments = ['production', 'staging', 'production', 'staging']
    const starts = await Promise.allSettled(
      environments.map((PETSTORE_ENV) => serverFor(owner, { ...databaseEnv, PETSTORE_ENV })),
    )
    const isUp = environments.map((_, index) => starts[index]?.status === 'fulfilled')
    assert.ok(
      [[true, false, true, false].join(), [false, true, false, true].join()].includes(isUp.join()),
      isUp.join(),
    )
  }
})
