import { assetUrl, readAsset } from '../assets.ts'
import { type Database, SchemaTooNewError, UnreleasedSchemaError } from './database.ts'
import type { Db, SqlDialect } from './db.ts'

/** One version of the schema. A released migration never changes; a change of the schema is a new migration. */
export type Migration = { readonly name: string; script(engine: SqlDialect['engine']): string }

const fromFiles = (name: string, files: Record<SqlDialect['engine'], readonly string[]>): Migration => ({
  name,
  script: (engine) =>
    files[engine].map((file) => readAsset(assetUrl(`./database/migrations/${file}.sql`))).join('\n'),
})

/** The version of a migration is its place in this list, starting at 1. */
export const migrations: readonly Migration[] = [
  fromFiles('initial', {
    sqlite: ['0001-initial.sqlite'],
    postgres: ['0001-initial.postgres', '0001-pets.postgres', '0001-rate-limits.postgres'],
  }),
  fromFiles('profiles', { sqlite: ['0002-profiles.sqlite'], postgres: ['0002-profiles.postgres'] }),
  fromFiles('store', {
    sqlite: ['0003-store.sqlite', '0003-imports.sqlite'],
    postgres: ['0003-store.postgres', '0003-imports.postgres', '0003-listings.postgres'],
  }),
  fromFiles('deliveries', { sqlite: ['0004-deliveries.sqlite'], postgres: ['0004-deliveries.postgres'] }),
]

/** Fails unless the database has the schema of this version of the program. The reason says why it is not migrated. */
export async function assertMigrated({ read }: Database, reason: string): Promise<void> {
  const applied = await appliedVersion(read, migrations)
  assertSupported(applied, migrations)
  if (applied === migrations.length) return
  const state = applied === 0 ? 'has no tables' : `has schema version ${applied}`
  throw new Error(
    `The database ${state}, this version of petstore needs ${migrations.length}, and ${reason}: run "petstore migrate" first.`,
  )
}

function assertSupported(applied: number, all: readonly Migration[]): void {
  if (applied <= all.length) return
  throw new SchemaTooNewError(
    `The database has schema version ${applied}, but this version of petstore supports versions up to ${all.length}: run the newer version that wrote it.`,
  )
}

/**
 * Applies the missing migrations in one transaction. Processes that migrate at the same time apply them once. Returns
 * the names of the migrations that were applied.
 */
export async function migrate(database: Database, now: number, all = migrations): Promise<string[]> {
  if ((await appliedVersion(database.read, all)) === all.length) return []
  return database.migrate(async (db, runScript) => {
    // Another process may have migrated since the first check.
    const applied = await appliedVersion(db, all)
    assertSupported(applied, all)
    const missing = all.slice(applied)
    for (const [index, { name, script }] of missing.entries()) {
      await runScript(script(db.dialect.engine))
      const version = applied + index + 1
      await db.insertInto('schema_migrations').values({ version, name, applied_at: now }).execute()
    }
    return missing.map(({ name }) => name)
  })
}

async function appliedVersion(db: Db, all: readonly Migration[]): Promise<number> {
  if (!(await db.dialect.hasTable(db, 'schema_migrations'))) return 0
  const rows = await db
    .selectFrom('schema_migrations')
    .select(['version', 'name'])
    .orderBy('version')
    .execute()
  const isUnreleased = rows.some(({ version, name }) => name !== (all[version - 1]?.name ?? name))
  if (isUnreleased) {
    throw new UnreleasedSchemaError(
      'This database was made by an unreleased version. Export it with the version that made it, then import it here.',
    )
  }
  return rows.at(-1)?.version ?? 0
}
