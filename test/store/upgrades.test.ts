import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrate, migrations } from '../../src/database/migrate.ts'
import { databaseFor } from '../support/engine.ts'
import { laterMigration } from '../support/laterProgram.ts'
import { asItIs, loadReleased, releasedDatabases } from '../support/releasedDatabase.ts'
import { schemaOf } from '../support/schema.ts'

const later = [...migrations, laterMigration]

// upgrades.slow.test.ts also serves, exports, imports and checks such a database.
for (const released of releasedDatabases) {
  test(`a database of ${released.version} is migrated to exactly the schema of a new database`, async (t) => {
    const [env, fresh] = [await loadReleased(t, released), await databaseFor(t, { isBare: true })]
    for (const each of [env, fresh]) await asItIs(each, (database) => migrate(database, 0, later))
    assert.equal(await asItIs(env, schemaOf), await asItIs(fresh, schemaOf))
  })
}
