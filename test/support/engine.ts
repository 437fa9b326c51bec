import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import type { Database } from '../../src/database/database.ts'
import { openMigrated } from '../../src/database/open.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'

/** The engine that this run is about. A single file run by hand is about the embedded one. */
export const engine = readEngine(process.env.PETSTORE_TEST_ENGINE)

function readEngine(name = 'sqlite'): 'sqlite' | 'postgres' {
  if (name === 'sqlite' || name === 'postgres') return name
  throw new Error(`PETSTORE_TEST_ENGINE must be sqlite or postgres, but is "${name}".`)
}

/** The settings that name a store: whoever starts with them has that store. */
export type StoreEnv = Readonly<Record<string, string>> & { readonly PETSTORE_DATA_DIR: string }

/** The settings of a store alone, of all that was set. */
export function storeEnvIn(env: Readonly<Record<string, string>>): StoreEnv | undefined {
  const { PETSTORE_DATA_DIR, DATABASE_URL } = env
  if (PETSTORE_DATA_DIR === undefined) return undefined
  return { PETSTORE_DATA_DIR, ...(DATABASE_URL !== undefined && { DATABASE_URL }) }
}

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'petstore-test-'))

export type NewStoreOptions = {
  /** One that nobody has ever opened. Otherwise a database may have its tables already, which saves time. */
  isBare?: boolean
}

/** A fresh store of the engine at hand. */
export async function newStore({ isBare = false }: NewStoreOptions = {}): Promise<StoreEnv> {
  const PETSTORE_DATA_DIR = temporaryFolder()
  if (engine === 'sqlite') return { PETSTORE_DATA_DIR }
  const name = `petstore_${randomUUID().replaceAll('-', '')}`
  // Copied file by file, which is several times as fast as page by page through the log.
  await administer(
    `CREATE DATABASE ${name} TEMPLATE ${isBare ? 'template1' : templateName} STRATEGY FILE_COPY`,
  )
  return { PETSTORE_DATA_DIR, DATABASE_URL: databaseUrl(adminUrl(), name) }
}

const templateName = 'petstore_template'

/** Makes the database with all tables that every other one is a copy of: once for a PostgreSQL. */
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

export async function removeStore({ PETSTORE_DATA_DIR, DATABASE_URL }: StoreEnv): Promise<void> {
  rmSync(PETSTORE_DATA_DIR, { recursive: true, force: true, maxRetries: 5 })
  if (DATABASE_URL === undefined) return
  await administer(`DROP DATABASE IF EXISTS ${new URL(DATABASE_URL).pathname.slice(1)} WITH (FORCE)`)
}

/** A fresh store that is gone after the test. */
export async function storeFor(t: Pick<TestContext, 'after'>, options?: NewStoreOptions): Promise<StoreEnv> {
  const env = await newStore(options)
  t.after(() => removeStore(env))
  return env
}

/** Opens a store beside whoever serves it, to look into it or to change it behind his back. */
export const openStore = (env: StoreEnv, now = 0): Promise<Database> =>
  openMigrated({ dataDir: env.PETSTORE_DATA_DIR, databaseUrl: env.DATABASE_URL }, now)

/** The same for one piece of work. */
export async function inStore<T>(env: StoreEnv, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openStore(env)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** A fresh store, opened; closed and gone after the test. */
export async function databaseFor(
  t: Pick<TestContext, 'after'>,
  now = 0,
): Promise<{ env: StoreEnv; database: Database }> {
  const env = await newStore()
  const database = await openStore(env, now)
  t.after(async () => {
    await database.close()
    await removeStore(env)
  })
  return { env, database }
}

/** Another who writes to the store and does not come to an end, so that all others wait, until he is let go. */
export async function holdTurn(env: StoreEnv): Promise<{ release(): Promise<void> }> {
  const database = await openStore(env)
  const released = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const turn = database.migrate(async () => {
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
 * All that a store keeps, as text: the bytes of its files, or every row of every table.
 * Another process reads the files, for one that closes a file gives up the locks that SQLite has on it in the same one.
 */
export async function allThatIsStored({ PETSTORE_DATA_DIR, DATABASE_URL }: StoreEnv): Promise<string> {
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
    const texts = await Promise.all(
      tables.rows.map(({ name }) => client.query(`SELECT whole::text AS text FROM ${name} AS whole`)),
    )
    return texts.flatMap(({ rows }) => rows.map(({ text }) => text)).join('\n')
  } finally {
    await client.end()
  }
}

/** Every row of a store, table by table: equal before and after where nothing has changed. */
export function contentsOf(env: StoreEnv): Promise<Record<string, unknown[]>> {
  return inStore(env, (database) =>
    database.snapshot(async (db) => {
      const tables = (await db.introspection.getTables()).filter(({ isView }) => !isView)
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

/** Fails unless the store is whole in itself. Of PostgreSQL's files we take PostgreSQL's word for it. */
export function assertIsWhole({ PETSTORE_DATA_DIR, DATABASE_URL }: StoreEnv): void {
  if (DATABASE_URL !== undefined) return
  const database = new DatabaseSync(databaseFile(PETSTORE_DATA_DIR))
  try {
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    assert.deepEqual(database.prepare('PRAGMA foreign_key_check').all(), [])
  } finally {
    database.close()
  }
}

/** Where the superuser of the run's PostgreSQL comes in. */
export function adminUrl(): string {
  const url = process.env.PETSTORE_TEST_POSTGRES_URL
  if (url === undefined) throw new Error('There is no PostgreSQL: start the tests with `node test/run.ts`.')
  return url
}

let admins: pg.Pool | undefined

/** Says something to the run's PostgreSQL as its superuser. An idle connection does not keep the process alive. */
export async function administer(statement: string): Promise<pg.QueryResult> {
  if (!admins) {
    admins = new pg.Pool({ connectionString: adminUrl(), max: 2, allowExitOnIdle: true })
    // A connection that ends while nobody uses it is nobody's loss.
    admins.on('error', () => {})
  }
  return admins.query(statement)
}
