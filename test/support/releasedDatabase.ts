import { globSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { Database } from '../../src/database/database.ts'
import { openPostgres } from '../../src/database/postgres/open.ts'
import { databaseFile, openSqlite } from '../../src/database/sqlite/open.ts'
import { type DatabaseEnv, databaseFor, engine } from './engine.ts'
import { preloadOption, runInProcess, type SpawnOptions } from './process.ts'
import { serverFor } from './servers.ts'

/** A database that a release has made, with every kind of row. `tools/makeFixture.ts` writes it. */
export type ReleasedDatabase = {
  readonly version: string
  readonly sql: string
  readonly environment: string
  /** When it was made. */
  readonly madeAt: number
  /** The secrets of keys, by the name of the key. */
  readonly secrets: {
    readonly valid: Readonly<Record<string, string>>
    /** Valid for an hour after it was made. */
    readonly expiring: Readonly<Record<string, string>>
    readonly invalid: Readonly<Record<string, string>>
  }
}

const folder = fileURLToPath(new URL('../fixtures/', import.meta.url))

/** One of each version that a test has to keep compatible. */
export const releasedDatabases: readonly ReleasedDatabase[] = globSync(`database-*.${engine}.sql`, {
  cwd: folder,
})
  .sort()
  .map((name) => {
    const sql = readFileSync(`${folder}${name}`, 'utf8')
    return { ...JSON.parse(sql.slice('-- '.length, sql.indexOf('\n'))), sql }
  })

/** A database as the release has left it. It is removed after the test. */
export async function loadReleased(
  t: Pick<TestContext, 'after'>,
  { sql, environment }: ReleasedDatabase,
): Promise<DatabaseEnv> {
  const env = await databaseFor(t, { isBare: true })
  if (env.DATABASE_URL === undefined) {
    using connection = new DatabaseSync(databaseFile(env.PETSTORE_DATA_DIR), { defensive: false })
    connection.exec(sql)
  } else {
    const client = new pg.Client({ connectionString: env.DATABASE_URL })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  return { ...env, PETSTORE_ENV: environment }
}

const later: SpawnOptions = { main: fileURLToPath(new URL('./laterProgram.ts', import.meta.url)) }

/** Runs a command of a later version, which has one more migration. */
export const runLater = (args: string[], env: Record<string, string>, input = '') =>
  runInProcess(args, env, input, later)

/** Starts a later version at the time at which the database was made. */
export const laterServerFor = (
  t: Pick<TestContext, 'after'>,
  env: Record<string, string>,
  { madeAt }: ReleasedDatabase,
) =>
  serverFor(t, env, {
    ...later,
    nodeOptions: [preloadOption(`const now = Date.now, ms = ${madeAt} - now(); Date.now = () => now() + ms`)],
  })

/** Opens a database of any version as it is. */
export async function asItIs<T>(env: DatabaseEnv, work: (database: Database) => Promise<T>): Promise<T> {
  const { PETSTORE_DATA_DIR, DATABASE_URL: url } = env
  const database = url === undefined ? await openSqlite(PETSTORE_DATA_DIR) : openPostgres({ url, poolMax: 1 })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}
