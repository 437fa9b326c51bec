import type { Kysely } from 'kysely'
import { type Database, SchemaTooNewError } from './database.ts'
import type { SqlDialect } from './dialect.ts'
import type { Migration } from './migration.ts'
import { firstRelease } from './migrations/0001-first-release.ts'
import { store } from './migrations/0002-store.ts'
import { sharedStore } from './migrations/0003-shared-store.ts'
import { coveringIndexes } from './migrations/0004-covering-indexes.ts'
import { streamLimits } from './migrations/0005-stream-limits.ts'
import type { Tables } from './tables.ts'

const migrations: readonly Migration[] = [firstRelease, store, sharedStore, coveringIndexes, streamLimits]

/** Whether the store has the schema of this program. */
export const isMigrated = async ({ read, dialect }: Database): Promise<boolean> =>
  (await appliedVersion(read, dialect)) === migrations.length

/**
 * Brings the schema up to this program's version: forward only, all in one transaction, and once, however many
 * processes begin at the same time. Answers the steps that were taken.
 */
export async function migrate(database: Database, now: number): Promise<string[]> {
  const newest = migrations.length
  if (await isMigrated(database)) return []
  return database.migrate(async (trx) => {
    await trx.schema
      .createTable('schema_migrations')
      .ifNotExists()
      .addColumn('version', database.dialect.integer, (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('applied_at', database.dialect.integer, (column) => column.notNull())
      .modifyEnd(database.dialect.tableEnd)
      .execute()
    // Asked again inside the transaction: another process may have migrated meanwhile.
    const applied = await appliedVersion(trx, database.dialect)
    if (applied > newest) {
      throw new SchemaTooNewError(
        `The store has schema version ${applied}, but this version of petstore knows ${newest} at most: run the newer version that wrote it.`,
      )
    }
    const steps = migrations.slice(applied)
    for (const migration of steps) {
      await migration.up(trx, database.dialect)
      const { version, name } = migration
      await trx.insertInto('schema_migrations').values({ version, name, applied_at: now }).execute()
    }
    return steps.map(({ name }) => name)
  })
}

async function appliedVersion(db: Kysely<Tables>, dialect: SqlDialect): Promise<number> {
  if (!(await dialect.hasTable(db, 'schema_migrations'))) return 0
  const row = await db
    .selectFrom('schema_migrations')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst()
  return Number(row?.version ?? 0)
}
