import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { type Migration, migrate, migrations } from '../../src/database/migrate.ts'
import { openPostgres } from '../../src/database/postgres/open.ts'
import { openSqlite } from '../../src/database/sqlite/open.ts'
import { type DatabaseEnv, databaseFor, inDatabase } from '../support/engine.ts'
import { runPetstore } from '../support/process.ts'

/** Opens a database without migrating it. */
const openUnmigrated = ({ PETSTORE_DATA_DIR, DATABASE_URL }: DatabaseEnv): Database | Promise<Database> =>
  DATABASE_URL === undefined ? openSqlite(PETSTORE_DATA_DIR) : openPostgres({ url: DATABASE_URL, poolMax: 1 })

/** Fails if it is applied twice. */
const nextMigration: Migration = {
  name: 'next',
  script: () => "CREATE TABLE next (id integer); INSERT INTO cursors (name, value) VALUES ('next', 1)",
}

describe('a database of a newer version', () => {
  const newerFor = async (t: TestContext): Promise<DatabaseEnv> => {
    const env = await databaseFor(t)
    await inDatabase(env, (database) => migrate(database, 0, [...migrations, nextMigration]))
    return env
  }

  for (const args of [['serve'], ['migrate'], ['seed'], ['keys', 'list'], ['export']]) {
    test(`is rejected by ${args.join(' ')} with a clear message`, async (t) => {
      const { code, stdout, stderr } = await runPetstore(args, { PORT: '0', ...(await newerFor(t)) })
      assert.equal(code, 1)
      assert.equal(stdout, '')
      assert.equal(
        stderr,
        `The database has schema version ${migrations.length + 1}, but this version of petstore supports versions up to ${migrations.length}: run the newer version that wrote it.\n`,
      )
    })
  }

  test('is rejected by serve without automatic migration', async (t) => {
    const env = { ...(await newerFor(t)), PORT: '0', PETSTORE_AUTO_MIGRATE: 'false' }
    const { code, stdout, stderr } = await runPetstore(['serve'], env)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /newer version/)
  })
})

describe('a database of an unreleased version', () => {
  const unreleasedNames = ['first-release', 'store', 'shared-store', 'covering-indexes', 'stream-limits']
  const unreleased =
    'This database was made by an unreleased version. Export it with the version that made it, then import it here.'

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

  for (const [command, isAutoMigrate] of [
    ['serve', 'true'],
    ['serve', 'false'],
    ['migrate', 'true'],
    ['export', 'true'],
  ] as const) {
    test(`is rejected by ${command} with PETSTORE_AUTO_MIGRATE=${isAutoMigrate}`, async (t) => {
      const env = await unreleasedFor(t, unreleasedNames)
      const settings = { ...env, PORT: '0', PETSTORE_AUTO_MIGRATE: isAutoMigrate }
      const { code, stdout, stderr } = await runPetstore([command], settings)
      assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: '', stderr: `${unreleased}\n` })
    })
  }
})
