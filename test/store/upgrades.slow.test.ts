import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { migrate, migrations } from '../../src/database/migrate.ts'
import { assertSameExport, oneLine } from '../support/commands.ts'
import { assertIntegrity, type DatabaseEnv, databaseFor, engine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { laterMigration } from '../support/laterProgram.ts'
import {
  asItIs,
  laterServerFor,
  loadReleased,
  releasedDatabases,
  runLater,
} from '../support/releasedDatabase.ts'
import { schemaOf } from '../support/schema.ts'

const later = [...migrations, laterMigration]

/** The rows that the tests compare, as the release has left them. */
const rowsOf = (env: DatabaseEnv) =>
  asItIs(env, async ({ read }) => ({
    pets: await read.selectFrom('pets').select(['id', 'status']).orderBy('id', 'desc').execute(),
    orders: await read
      .selectFrom('orders')
      .select(['id', 'status', 'customer_name', 'cancel_reason'])
      .orderBy('id', 'desc')
      .execute(),
    keys: await read.selectFrom('api_keys').select('id').orderBy('id', 'desc').execute(),
    events: await read.selectFrom('events').select('type').execute(),
    nextPetId: (await read.dialect.lastAssignedId(read, 'pets')) + 1,
  }))

const versionOf = (env: DatabaseEnv): Promise<number> =>
  asItIs(env, async ({ read }) => (await read.selectFrom('schema_migrations').selectAll().execute()).length)

async function ok(args: string[], env: DatabaseEnv, input = ''): Promise<string> {
  const { code, stdout, stderr } = await runLater(args, env, input)
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, args.join(' '))
  return stdout
}

test('there is a database of a release', () => assert.ok(releasedDatabases.length > 0))

for (const released of releasedDatabases) {
  describe(`a database of ${released.version}`, { concurrency: 2 }, () => {
    test('is migrated to exactly the schema of a new database', async (t) => {
      const env = await loadReleased(t, released)
      const before = await versionOf(env)
      const names = later.slice(before).map(({ name }) => name)
      assert.deepEqual(oneLine(await ok(['migrate', '--json'], env)), { steps: names })
      assert.equal(await ok(['migrate'], env), 'The schema is up to date.\n')
      assertIntegrity(env)
      const fresh = await databaseFor(t, { isBare: true })
      await asItIs(fresh, (database) => migrate(database, 0, later))
      assert.equal(await asItIs(env, schemaOf), await asItIs(fresh, schemaOf))
    })

    test('is served: its keys are valid as before, and every read and write works', async (t) => {
      const env = await loadReleased(t, released)
      const rows = await rowsOf(env)
      const server = await laterServerFor(t, env, released)
      const { valid, expiring, invalid } = released.secrets
      const status = async (key: string, headers = {}) =>
        (await server.request('GET', '/v1/pets', { key, headers })).status
      const origin = 'https://shelter.example'
      for (const [name, key] of Object.entries(valid))
        assert.equal(await status(key, name === 'site' ? { origin } : {}), 200, name)
      // PostgreSQL decides by its own clock, by which they may have ended.
      if (engine === 'sqlite')
        for (const [name, key] of Object.entries(expiring)) assert.equal(await status(key), 200, name)
      for (const [name, key] of Object.entries(invalid)) assert.equal(await status(key), 401, name)

      const call = async (method: string, path: string, body?: unknown, headers = {}) => {
        const options = { key: valid.admin, headers, ...(body !== undefined && { body }) }
        const response = await server.request(method, `/v1${path}`, options)
        assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${response.text}`)
        return response
      }
      const read = async (path: string) => (await call('GET', path)).json
      const ids = async (path: string) => (await read(path)).map(({ id }: { id: number }) => id)
      assert.deepEqual(
        await ids('/pets?limit=100'),
        rows.pets.map(({ id }) => id),
      )
      const name = 'Luna "the" cat, 🐾\nsecond line'
      assert.deepEqual(await read('/pets/2'), { id: 2, name, categoryId: -9, status: 'sold' })
      const count = (status: string) => rows.pets.filter((pet) => pet.status === status).length
      const [available, pending, sold] = ['available', 'pending', 'sold'].map(count) as [
        number,
        number,
        number,
      ]
      assert.deepEqual(await read('/store/inventory'), { available, pending, sold })
      assert.deepEqual(
        // biome-ignore lint/suspicious/noExplicitAny: orders of every state.
        (await read('/store/orders?limit=100')).map(({ id, status, customer, cancelReason = null }: any) => ({
          ...{ id, status, customer_name: customer?.name ?? null, cancel_reason: cancelReason },
        })),
        // Rows of SQLite have no prototype.
        rows.orders.map((row) => ({ ...row })),
      )
      assert.deepEqual(
        (await read('/events?limit=100')).map(({ id }: { id: string }) => Number(id)),
        rows.events.map((_, index) => index + 1),
      )
      assert.deepEqual(
        await ids('/keys'),
        rows.keys.map(({ id }) => id),
      )
      if (released.version !== '1.0.0')
        await eventually('the search index has the terms of this version', async () => {
          const found = await server.request('GET', '/v1/listings?view=staff&q=a17', { key: valid.admin })
          return found.status === 200 && found.json[0]?.profile.externalId === 'A-17'
        })
      for (const path of ['/keys/9', '/limits', '/usage', '/keys/1/usage', '/webhooks/1']) await read(path)
      for (const path of ['/audit', '/webhooks', '/webhooks/1/deliveries', '/categories'])
        assert.ok((await read(path)).length > 3, path)

      const body = { name: 'Once', categoryId: 3 }
      const replayed = await call('POST', '/pets', body, { 'idempotency-key': 'pet-once' })
      assert.deepEqual([replayed.json.id, replayed.headers['idempotent-replayed']], [11, 'true'])
      assert.equal((await call('POST', '/pets', body)).json.id, rows.nextPetId)
      await call('PATCH', '/pets/9', { name: 'Fay II' })
      await call('DELETE', '/pets/10')
      await call('PATCH', '/store/orders/2', { status: 'approved' })
      await call('PATCH', '/store/orders/3', { status: 'delivered' })
      await call('DELETE', '/store/orders/3/customer')
      assert.equal(
        (await call('POST', '/store/orders', { petId: 9, note: 'new' })).json.id,
        (rows.orders[0]?.id ?? 0) + 1,
      )
      await call('PATCH', '/categories/4', { name: 'Dogs' })
      const { id, key } = (await call('POST', '/keys', { name: 'new' })).json
      assert.deepEqual([id, await status(key)], [(rows.keys[0]?.id ?? 0) + 1, 200])
      await call('POST', '/keys/8/rotate')
      assert.equal(await status(valid.current ?? ''), 401)
      await call('DELETE', '/keys/6/ban')
      await call('PATCH', '/webhooks/4', { status: 'enabled' })
      await call('POST', '/webhooks/1/rotate')
      await call('DELETE', '/webhooks/3')
      assert.equal(
        (await call('POST', '/webhooks', { url: 'https://a.example/', events: ['pet.created'] })).json.id,
        5,
      )
      assert.deepEqual(await read('/store/inventory'), {
        ...{ available, pending: pending - 1, sold: sold + 1 },
      })
    })

    test('is exported, and its export is imported without loss', async (t) => {
      const env = await loadReleased(t, released)
      const rows = await rowsOf(env)
      const exported = await ok(['export'], env)
      assert.equal(await versionOf(env), later.length)
      const target = { ...(await databaseFor(t, { isBare: true })), PETSTORE_ENV: released.environment }
      await asItIs(target, (database) => migrate(database, 0, later))
      const counts = oneLine(await ok(['import', '--with-keys', '--json'], target, exported))
      const { pets, orders, keys } = rows
      assert.deepEqual([counts.pets, counts.orders, counts.keys], [pets.length, orders.length, keys.length])
      assertSameExport(await ok(['export'], target), exported)
    })

    test('gets imported records', async (t) => {
      const env = await loadReleased(t, released)
      const { nextPetId } = await rowsOf(env)
      const csv = 'chip,name,categoryId\nc-1,Fay II,4\nc-2,Gil,-9223372036854775808\nc-3,New,4\n'
      await ok(['import', '--format', 'csv', '--external-id', 'chip'], env, csv)
      assert.equal(await versionOf(env), later.length)
      const exported = await ok(['export'], env)
      assert.match(exported, /"id":9,"name":"Fay II".*"externalId":"c-1"/)
      assert.match(exported, new RegExp(`"id":${nextPetId},"name":"New".*"externalId":"c-3"`))
    })

    test('is not changed by a dry run, which says that it has to be migrated first', async (t) => {
      const env = await loadReleased(t, released)
      const before = await versionOf(env)
      const record = '{"name":"New","categoryId":1}\n'
      const { code, stdout, stderr } = await runLater(['import', '--dry-run'], env, record)
      assert.deepEqual(
        { code, stdout, stderr },
        {
          code: 1,
          stdout: '',
          stderr: `The database has schema version ${before}, this version of petstore needs ${later.length}, and a dry run does not migrate it: run "petstore migrate" first.\n`,
        },
      )
      assert.equal(await versionOf(env), before)
      await ok(['migrate'], env)
      assert.match(await ok(['import', '--dry-run'], env, record), /^This would add 1 animal/)
    })

    test('is checked by doctor before and after its migration', async (t) => {
      const env = { ...(await loadReleased(t, released)), PORT: '0' }
      const before = await versionOf(env)
      const old = await runLater(['doctor'], env)
      assert.equal(old.code, 0, old.stdout)
      assert.match(old.stdout, new RegExp(`schema version ${before} of ${later.length}, staging`))
      assert.match(old.stdout, /Make a backup, then run: petstore migrate/)
      assert.equal(await versionOf(env), before)
      await ok(['migrate'], env)
      assert.match(await ok(['doctor'], env), new RegExp(`schema version ${later.length} of ${later.length}`))
    })

    test('is not migrated by a service with PETSTORE_AUTO_MIGRATE=false', async (t) => {
      const env = { ...(await loadReleased(t, released)), PORT: '0', PETSTORE_AUTO_MIGRATE: 'false' }
      const before = await versionOf(env)
      const { code, stderr } = await runLater(['serve'], env)
      assert.equal(code, 1)
      assert.match(stderr, /and PETSTORE_AUTO_MIGRATE is false: run "petstore migrate" first\.\n$/)
      assert.equal(await versionOf(env), before)
    })
  })
}
