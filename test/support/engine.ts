import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { PostgresIntrospector, SqliteIntrospector } from 'kysely'
import pg from 'pg'
import type { Database } from '../../src/database/database.ts'
import { openMigrated } from '../../src/database/open.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'

/** The engine of this run. A file that is run without test/run.ts uses SQLite. */
export const engine = readEngine(process.env.PETSTORE_TEST_ENGINE)

function readEngine(name = 'sqlite'): 'sqlite' | 'postgres' {
  if (name === 'sqlite' || name === 'postgres') return name
  throw new Error(`PETSTORE_TEST_ENGINE must be sqlite or postgres, but is "${name}".`)
}

/** The settings that name a database. */
export type DatabaseEnv = Readonly<Record<string, string>> & { readonly PETSTORE_DATA_DIR: string }

/** The settings of `env` that name a database. */
export function databaseEnvIn(env: Readonly<Record<string, string>>): DatabaseEnv | undefined {
  const { PETSTORE_DATA_DIR, DATABASE_URL } = env
  if (PETSTORE_DATA_DIR === undefined) return undefined
  return { PETSTORE_DATA_DIR, ...(DATABASE_URL !== undefined && { DATABASE_URL }) }
}

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'petstore-test-'))

export type NewDatabaseOptions = {
  /** A database without tables. Otherwise it may have its tables already, which saves time. */
  isBare?: boolean
}

/** A fresh database of the engine of this run. */
export async function newDatabase({ isBare = false }: NewDatabaseOptions = {}): Promise<DatabaseEnv> {
  const PETSTORE_DATA_DIR = temporaryFolder()
  if (engine === 'sqlite') {
    if (!isBare) copyFileSync(await sqliteTemplate(), databaseFile(PETSTORE_DATA_DIR))
    return { PETSTORE_DATA_DIR }
  }
  const name = `petstore_${randomUUID().replaceAll('-', '')}`
  // Copying files is several times as fast as writing each page to the log.
  await administer(
    `CREATE DATABASE ${name} TEMPLATE ${isBare ? 'template1' : templateName} STRATEGY FILE_COPY`,
  )
  return { PETSTORE_DATA_DIR, DATABASE_URL: databaseUrl(adminUrl(), name) }
}

let sqliteTemplateFile: Promise<string> | undefined

/** A database with all tables that the others are copies of, once per process. */
function sqliteTemplate(): Promise<string> {
  sqliteTemplateFile ??= (async () => {
    const dataDir = temporaryFolder()
    process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }))
    await (await openMigrated({ dataDir }, 0)).close()
    return databaseFile(dataDir)
  })()
  return sqliteTemplateFile
}

const templateName = 'petstore_template'

/** Creates the database with all tables that the others are copies of, once per PostgreSQL server. */
export async function prepareTemplate(admin: string): Promise<void> {
  const client = new pg.Client({ connectionString: admin })
  await client.connect()
  await client.query(`CREATE DATABASE ${templateName}`)
  await client.end()
  const location = { dataDir: tmpdir(), databaseUrl: databaseUrl(admin, templateName) }
  await (await openMigrated(location, 0)).close()
}

function databaseUrl(admin: string, name: string): string {
  const url = new URL(admin)
  url.pathname = name
  return url.href
}

export async function removeDatabase({ PETSTORE_DATA_DIR, DATABASE_URL }: DatabaseEnv): Promise<void> {
  rmSync(PETSTORE_DATA_DIR, { recursive: true, force: true, maxRetries: 5 })
  if (DATABASE_URL === undefined) return
  await administer(`DROP DATABASE IF EXISTS ${new URL(DATABASE_URL).pathname.slice(1)} WITH (FORCE)`)
}

/** A fresh database that is removed after the test. */
export async function databaseFor(
  t: Pick<TestContext, 'after'>,
  options?: NewDatabaseOptions,
): Promise<DatabaseEnv> {
  const env = await newDatabase(options)
  t.after(() => removeDatabase(env))
  return env
}

/** Opens a database, also while a service has it open, to read or change it without the service. */
export const openTestDatabase = (env: DatabaseEnv, now = 0): Promise<Database> =>
  openMigrated({ dataDir: env.PETSTORE_DATA_DIR, databaseUrl: env.DATABASE_URL }, now)

/** Opens a database for one piece of work. */
export async function inDatabase<T>(env: DatabaseEnv, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openTestDatabase(env)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** A fresh database, opened. It is closed and removed after the test. */
export async function openDatabaseFor(
  t: Pick<TestContext, 'after'>,
  now = 0,
): Promise<{ env: DatabaseEnv; database: Database }> {
  const env = await newDatabase()
  const database = await openTestDatabase(env, now)
  t.after(async () => {
    await database.close()
    await removeDatabase(env)
  })
  return { env, database }
}

/** Holds the write lock of a database, so that other writers wait, until it is released. */
export async function holdWriteLockOf(env: DatabaseEnv): Promise<{ release(): Promise<void> }> {
  const database = await openTestDatabase(env)
  const released = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const turn = database.migrate(async (_trx, runScript) => {
    // Every write of PostgreSQL changes a row of this table at its end.
    if (env.DATABASE_URL !== undefined) await runScript('LOCK TABLE counter_slots IN EXCLUSIVE MODE')
    held.resolve()
    await released.promise
  })
  await Promise.race([held.promise, turn])
  return {
    async release() {
      released.resolve()
      await turn
      await database.close()
    },
  }
}

/**
 * The whole content of a database as text: the bytes of its files, or every row of every table.
 * Another process reads the files: a process that closes a file gives up the locks that SQLite holds on it.
 */
export async function databaseText({ PETSTORE_DATA_DIR, DATABASE_URL }: DatabaseEnv): Promise<string> {
  if (DATABASE_URL === undefined) {
    const files = readdirSync(PETSTORE_DATA_DIR).map((name) => join(PETSTORE_DATA_DIR, name))
    const { stdout } = await promisify(execFile)('cat', files, { encoding: 'buffer', maxBuffer: 2 ** 30 })
    return stdout.toString('latin1')
  }
  const client = new pg.Client({ connectionString: DATABASE_URL })
  await client.connect()
  try {
    const tables = await client.query(
      "SELECT oid::regclass AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
    )
    const texts: string[] = []
    for (const { name } of tables.rows) {
      const { rows } = await client.query(`SELECT whole::text AS text FROM ${name} AS whole`)
      texts.push(...rows.map(({ text }) => text))
    }
    return texts.join('\n')
  } finally {
    await client.end()
  }
}

/** Every row of a database by table. */
export function contentsOf(env: DatabaseEnv): Promise<Record<string, unknown[]>> {
  return inDatabase(env, (database) =>
    database.snapshot(async (db) => {
      const Introspector = env.DATABASE_URL === undefined ? SqliteIntrospector : PostgresIntrospector
      const tables = (await new Introspector(db).getTables()).filter(({ isView }) => !isView)
      const contents: Record<string, unknown[]> = {}
      for (const { name } of tables) {
        const rows = await db
          .selectFrom(name as 'pets')
          .selectAll()
          .execute()
        contents[name] = rows.map((row) => Object.values(row).map(String).join()).sort()
      }
      return contents
    }),
  )
}

/** Fails unless the database file is consistent. PostgreSQL checks its files itself. */
export function assertIntegrity({ PETSTORE_DATA_DIR, DATABASE_URL }: DatabaseEnv): void {
  if (DATABASE_URL !== undefined) return
  const database = new DatabaseSync(databaseFile(PETSTORE_DATA_DIR))
  try {
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    assert.deepEqual(database.prepare('PRAGMA foreign_key_check').all(), [])
  } finally {
    database.close()
  }
}

/** The connection string of the superuser of this run's PostgreSQL. */
export function adminUrl(): string {
  const url = process.env.PETSTORE_TEST_POSTGRES_URL
  if (url === undefined) throw new Error('There is no PostgreSQL: start the tests with `node test/run.ts`.')
  return url
}

let admins: pg.Pool | undefined

/** Runs a statement as the superuser of this run's PostgreSQL. An idle connection does not keep the process alive. */
export async function administer(statement: string): Promise<pg.QueryResult> {
  if (!admins) {
    admins = new pg.Pool({ connectionString: adminUrl(), max: 2, allowExitOnIdle: true })
    // An idle connection may end at any time; the pool replaces it.
    admins.on('error', () => {})
  }
  return admins.query(statement)
}
