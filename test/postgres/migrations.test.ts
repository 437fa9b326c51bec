import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import pg from 'pg'
import { LockTimeoutError } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { migrate, migrations } from '../../src/database/migrate.ts'
import {
  type DatabaseEnv,
  databaseFor,
  inDatabase,
  newDatabase,
  openDatabaseFor,
  removeDatabase,
} from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { startLoad } from '../support/load.ts'
import { runPetstore } from '../support/process.ts'
import { queryOnce, tablesQuery } from '../support/queryOnce.ts'
import { amplePlan } from '../support/responses.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { serverFor } from '../support/servers.ts'
import { startTestService } from '../support/service.ts'

const migrationNames = migrations.map(({ name }) => name)

async function emptyDatabaseFor(t: Pick<TestContext, 'after'>): Promise<DatabaseEnv> {
  const env = await newDatabase({ isBare: true })
  t.after(() => removeDatabase(env))
  return env
}

async function clientFor(t: Pick<TestContext, 'after'>, env: DatabaseEnv): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: env.DATABASE_URL })
  await client.connect()
  t.after(() => client.end())
  return client
}

describe('PETSTORE_AUTO_MIGRATE=false', { concurrency: 2 }, () => {
  const isManual = { PETSTORE_AUTO_MIGRATE: 'false' }

  test('serve rejects an empty database and names "petstore migrate", which migrates it; then serve starts', async (t) => {
    const undo = reverseCleanup(t)
    const env = await emptyDatabaseFor(undo)

    const rejected = await runPetstore(['serve'], { ...env, ...isManual, PORT: '0' })
    assert.deepEqual([rejected.code, rejected.stdout], [1, ''])
    assert.match(rejected.stderr, /PETSTORE_AUTO_MIGRATE is false: run "petstore migrate" first/)
    assert.doesNotMatch(rejected.stderr, /\n {4}at /, 'no stack')
    assert.deepEqual(await queryOnce(env, tablesQuery), [])

    const migrated = await runPetstore(['migrate', '--json'], { ...env, ...isManual })
    assert.deepEqual(
      [migrated.code, migrated.stdout],
      [0, `${JSON.stringify({ steps: migrationNames })}\n`],
      migrated.stderr,
    )
    assert.match(migrated.stderr, /^Creating the tables in the PostgreSQL database at \S+\.\n$/)
    const again = await runPetstore(['migrate'], { ...env, ...isManual })
    assert.deepEqual([again.code, again.stdout, again.stderr], [0, 'The schema is up to date.\n', ''])
    const server = await serverFor(undo, { ...env, ...isManual })
    assert.equal((await server.request('GET', '/readyz')).status, 200)
  })

  test('"petstore migrate" reports the migrations in plain text', async (t) => {
    const { code, stdout, stderr } = await runPetstore(['migrate'], await emptyDatabaseFor(t))
    assert.equal(code, 0, stderr)
    assert.match(stderr, /^Creating the tables in the PostgreSQL database at \S+\.\n$/)
    assert.equal(stdout, `The schema is up to date now: ${migrationNames.join(', ')}.\n`)
  })
})

test('a migration that waits for a long transaction gives up, and every change is made while it waits', async (t) => {
  const undo = reverseCleanup(t)
  const env = await databaseFor(undo)
  const service = await startTestService(env)
  undo.after(() => service.stop())
  const { key } = await service.makeKey(amplePlan)
  const load = startLoad([service], { callers: 4, key })
  undo.after(() => load.stop().catch(() => {}))
  const reader = await clientFor(undo, env)
  // As pg_dump does.
  await reader.query('BEGIN; SELECT 1 FROM pets LIMIT 1')
  const next = { name: 'next', script: () => 'ALTER TABLE pets ADD COLUMN from_the_future text' }
  const everyCallerGoesOn = async () => {
    const before = load.leastChanges()
    await eventually('every caller makes changes', () => load.leastChanges() > before + 1)
  }
  await inDatabase(env, async (database) => {
    for (let attempt = 0; attempt < 3; attempt++) {
      await assert.rejects(migrate(database, 0, [...migrations, next]), LockTimeoutError)
      await everyCallerGoesOn()
    }
    await reader.query('COMMIT')
    assert.deepEqual(await migrate(database, 0, [...migrations, next]), ['next'])
  })
  await everyCallerGoesOn()
  await load.stop()
  assert.equal(load.rejections(), 0, 'no request was rejected')
})

test('"petstore migrate" names the reason if a transaction blocks it', async (t) => {
  const undo = reverseCleanup(t)
  const env = await emptyDatabaseFor(undo)
  const blocker = await clientFor(undo, env)
  // The migration creates this table, too, and has to wait for the outcome.
  await blocker.query('BEGIN; CREATE TABLE metadata (name text)')
  const { code, stdout, stderr } = await runPetstore(['migrate'], env)
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(
    stderr,
    /^Another transaction in PostgreSQL, such as that of a backup, blocks the migration: /m,
  )
})

test('a change is made even if a migration has made the prepared statements of all connections stale', async (t) => {
  const { env, database } = await openDatabaseFor(t)
  const connections = 10
  const readOrders = (trx: Trx) => trx.selectFrom('orders').selectAll().where('id', '=', 1).execute()
  const addCategory = (trx: Trx, id: number) =>
    trx
      .insertInto('categories')
      .values({ category_id: BigInt(id) })
      .execute()
  let begun = 0
  const all = Promise.withResolvers<void>()
  await Promise.all(
    Array.from({ length: connections }, (_, id) =>
      database.write(async (trx) => {
        await readOrders(trx)
        if (++begun === connections) all.resolve()
        await all.promise
        await addCategory(trx, id)
      }),
    ),
  )
  await queryOnce(env, 'ALTER TABLE orders ADD COLUMN from_the_future text')
  await database.write(async (trx) => {
    await addCategory(trx, connections)
    await readOrders(trx)
  })
  assert.equal((await queryOnce(env, 'SELECT 1 FROM categories')).length, connections + 1)
})
