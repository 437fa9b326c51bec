import type { Kysely } from 'kysely'
import { type Database, SchemaTooNewError } from './database.ts'
import type { Migration } from './migration.ts'
import { firstRelease } from './migrations/0001-first-release.ts'
import { store } from './migrations/0002-store.ts'
import type { Tables } from './tables.ts'

const migrations: readonly Migration[] = [firstRelease, store]

/** Brings the schema up to this program's version: forward only, all in one transaction. */
export async function migrate(database: Database, now: number): Promise<void> {
  const newest = migrations.length
  if ((await appliedVersion(database.read)) === newest) return
  await database.write(async (trx) => {
    await trx.schema
      .createTable('schema_migrations')
      .ifNotExists()
      .addColumn('version', database.dialect.integer, (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('applied_at', database.dialect.integer, (column) => column.notNull())
      .modifyEnd(database.dialect.tableEnd)
      .execute()
    // Asked again inside the transaction: another process may have migrated meanwhile.
    const applied = await appliedVersion(trx)
    if (applied > newest) {
      throw new SchemaTooNewError(
        `The store has schema version ${applied}, but this version of petstore knows ${newest} at most: run the newer version that wrote it.`,
      )
    }
    for (const migration of migrations.slice(applied)) {
      await migration.up(trx, database.dialect)
      const { version, name } = migration
      await trx.insertInto('schema_migrations').values({ version, name, applied_at: now }).execute()
    }
  })
}

async function appliedVersion(db: Kysely<Tables>): Promise<number> {
  const tables = await db.introspection.getTables()
  if (!tables.some((table) => table.name === 'schema_migrations')) return 0
  const row = await db
    .selectFrom('schema_migrations')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst()
  return Number(row?.version ?? 0)
}
