import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import { migrations } from '../../src/database/migrate.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { assertSameExport, oneLine } from '../support/commands.ts'
import { assertIntegrity, type DatabaseEnv } from '../support/engine.ts'
import {
  loadReleased,
  type ReleasedDatabase,
  releasedDatabases,
  runLater,
} from '../support/releasedDatabase.ts'
import { folderFor } from '../support/servers.ts'

const laterVersion = migrations.length + 1

function versionOf(file: string): number {
  using connection = new DatabaseSync(file, { readOnly: true })
  return Number(connection.prepare('SELECT max(version) AS version FROM schema_migrations').get()?.version)
}

async function ok(args: string[], env: DatabaseEnv): Promise<string> {
  const { code, stdout, stderr } = await runLater(args, env)
  assert.deepEqual([code, stderr.replace(/^Creating the database .*\n/, '')], [0, ''], args.join(' '))
  return stdout
}

/** A database of the release, and its backup by the later version. */
async function backedUp(t: TestContext, released: ReleasedDatabase) {
  const env = await loadReleased(t, released)
  const before = versionOf(databaseFile(env.PETSTORE_DATA_DIR))
  const file = join(folderFor(t), 'backup.db')
  const { rows } = oneLine(await ok(['backup', file, '--json'], env))
  assert.equal(versionOf(databaseFile(env.PETSTORE_DATA_DIR)), before, 'a backup does not migrate')
  assert.equal(versionOf(file), before)
  return { env, file, rows }
}

for (const released of releasedDatabases) {
  describe(`a backup of a database of ${released.version}`, { concurrency: 2 }, () => {
    test('is made before the migration, and restored to a new folder', async (t) => {
      const { env, file, rows } = await backedUp(t, released)
      const target = { ...env, PETSTORE_DATA_DIR: join(folderFor(t), 'new') }
      assert.deepEqual(oneLine(await ok(['restore', file, '--json'], target)).rows, rows)
      assert.equal(versionOf(databaseFile(target.PETSTORE_DATA_DIR)), laterVersion)
      assertIntegrity(target)
      assertSameExport(await ok(['export'], target), await ok(['export'], env))
    })

    test('replaces the migrated database', async (t) => {
      const { env, file } = await backedUp(t, released)
      const exported = await ok(['export'], env)
      await ok(['seed', '--count', '100'], env)
      await ok(['restore', file, '--replace'], env)
      assert.equal(versionOf(databaseFile(env.PETSTORE_DATA_DIR)), laterVersion)
      assertIntegrity(env)
      assertSameExport(await ok(['export'], env), exported)
    })
  })
}

describe('a backup that cannot be restored is reported with the reason, and leaves no folder', () => {
  const released = releasedDatabases[0] as ReleasedDatabase
  for (const [what, change, expected] of [
    [
      'because its migration fails',
      'CREATE TABLE later (id integer)',
      /^Nothing was restored: the migration of .* failed \(table later already exists\)\.$/m,
    ],
    [
      'because an unreleased version made it',
      "DROP TABLE orders; UPDATE schema_migrations SET name = 'pets'",
      /^This database was made by an unreleased version\./m,
    ],
  ] as const) {
    test(what, async (t) => {
      const { env, file } = await backedUp(t, released)
      const backup = new DatabaseSync(file)
      backup.exec(change)
      backup.close()
      const target = { ...env, PETSTORE_DATA_DIR: join(folderFor(t), 'new') }
      const { code, stdout, stderr } = await runLater(['restore', file], target)
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, expected)
      assert.doesNotMatch(stderr, /cannot be written/)
      assert.equal(existsSync(target.PETSTORE_DATA_DIR), false)
    })
  }
})
