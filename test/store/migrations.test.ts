import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { type Database, SchemaTooNewError, UnreleasedSchemaError } from '../../src/database/database.ts'
import { type Migration, migrate, migrations } from '../../src/database/migrate.ts'
import { openPostgres } from '../../src/database/postgres/open.ts'
import { openSqlite } from '../../src/database/sqlite/open.ts'
import { type DatabaseEnv, databaseFor, engine, inDatabase, openTestDatabase } from '../support/engine.ts'
import { runPetstore } from '../support/process.ts'
import { schemaOf } from '../support/schema.ts'
import { startTestService } from '../support/service.ts'

/** Opens a database without migrating it. */
const openUnmigrated = ({ PETSTORE_DATA_DIR, DATABASE_URL }: DatabaseEnv): Database | Promise<Database> =>
  DATABASE_URL === undefined ? openSqlite(PETSTORE_DATA_DIR) : openPostgres({ url: DATABASE_URL, poolMax: 1 })

async function unmigratedFor(t: TestContext): Promise<Database> {
  const database = await openUnmigrated(await databaseFor(t, { isBare: true }))
  t.after(() => database.close())
  return database
}

const versionsOf = async ({ read }: Database): Promise<number[]> =>
  (await read.selectFrom('schema_migrations').select('version').orderBy('version').execute()).map(
    ({ version }) => version,
  )

/** Fails if it is applied twice. */
const nextMigration: Migration = {
  name: 'next',
  script: () => "CREATE TABLE next (id integer); INSERT INTO cursors (name, value) VALUES ('next', 1)",
}

test('the initial migration makes exactly the schema that is pinned', async (t) => {
  const database = await unmigratedFor(t)
  assert.deepEqual(await migrate(database, 0, migrations.slice(0, 1)), ['initial'])
  const pinned = new URL(`../fixtures/schema-0001.${engine}.txt`, import.meta.url)
  assert.equal(await schemaOf(database), readFileSync(pinned, 'utf8'))
})

describe('migrations that start at the same time are applied once', () => {
  test('by processes, on an empty database', async (t) => {
    const env = await databaseFor(t, { isBare: true })
    const runs = await Promise.all(Array.from({ length: 4 }, () => runPetstore(['migrate', '--json'], env)))
    for (const { code, stderr } of runs) {
      assert.equal(code, 0, stderr)
      assert.match(stderr, /^(?:Creating the (?:database|tables) .*\n)?$/)
    }
    const applied = runs.flatMap(({ stdout }) => JSON.parse(stdout).steps)
    assert.deepEqual(
      applied,
      migrations.map(({ name }) => name),
    )
  })

  test('by ten connections, on a database of the previous version', async (t) => {
    const env = await databaseFor(t)
    const databases = await Promise.all(Array.from({ length: 10 }, () => openTestDatabase(env)))
    try {
      const applied = await Promise.all(
        databases.map((database) => migrate(database, 0, [...migrations, nextMigration])),
      )
      assert.deepEqual(applied.flat(), ['next'])
      const [database] = databases as [Database]
      assert.deepEqual(
        await versionsOf(database),
        [...migrations, nextMigration].map((_, index) => index + 1),
      )
    } finally {
      await Promise.all(databases.map((database) => database.close()))
    }
  })
})

test('a migration that fails half-way changes nothing, and can be tried again', async (t) => {
  const env = await databaseFor(t)
  await inDatabase(env, async (database) => {
    const before = await schemaOf(database)
    const failing = { name: 'failing', script: () => 'CREATE TABLE half (id integer); DROP TABLE missing' }
    await assert.rejects(migrate(database, 0, [...migrations, nextMigration, failing]), /missing/)
    assert.equal(await schemaOf(database), before)
    assert.equal((await versionsOf(database)).length, migrations.length)
    assert.deepEqual(await migrate(database, 0, [...migrations, nextMigration]), ['next'])
    assert.deepEqual(await migrate(database, 0, [...migrations, nextMigration]), [])
  })
})

describe('a database of a newer version', () => {
  // test/commands/migrations.test.ts has the messages of the commands.
  test('is not opened on any attempt, and not changed', async (t) => {
    const env = await databaseFor(t)
    await inDatabase(env, (database) => migrate(database, 0, [...migrations, nextMigration]))
    for (const _ of [1, 2]) await assert.rejects(openTestDatabase(env), SchemaTooNewError)
    await assert.rejects(startTestService({ ...env, PETSTORE_AUTO_MIGRATE: 'false' }), /newer version/)
    const database = await openUnmigrated(env)
    t.after(() => database.close())
    assert.equal((await versionsOf(database)).length, migrations.length + 1)
    assert.deepEqual(await database.read.selectFrom('pets').selectAll().execute(), [])
    assert.deepEqual(await database.read.selectFrom('api_keys').selectAll().execute(), [])
  })
})

describe('a database of an unreleased version', () => {
  const unreleasedNames = ['first-release', 'store', 'shared-store', 'covering-indexes', 'stream-limits']

  async function unreleasedFor(t: TestContext, names: readonly string[]): Promise<DatabaseEnv> {
    const env = await databaseFor(t, { isBare: true })
    const database = await openUnmigrated(env)
    const rows = names.map((name, index) => `(${index + 1}, '${name}', 0)`).join()
    await database.migrate((_trx, runScript) =>
      runScript(`
        CREATE TABLE schema_migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at integer NOT NULL);
        INSERT INTO schema_migrations VALUES ${rows}`),
    )
    await database.close()
    return env
  }

  for (const names of [unreleasedNames.slice(0, 1), unreleasedNames]) {
    test(`with ${names.length} migrations is not opened, and not changed`, async (t) => {
      const env = await unreleasedFor(t, names)
      await assert.rejects(openTestDatabase(env), UnreleasedSchemaError)
      const service = startTestService({ ...env, PETSTORE_AUTO_MIGRATE: 'false' })
      await assert.rejects(service, /unreleased version/)
      const database = await openUnmigrated(env)
      t.after(() => database.close())
      assert.equal((await versionsOf(database)).length, names.length)
      assert.equal(await database.read.dialect.hasTable(database.read, 'pets'), false)
    })
  }
})
