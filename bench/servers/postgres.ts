import pg from 'pg'
import { startPostgres } from '../../test/support/postgres.ts'
import { type Cores, moveTo } from '../host/cores.ts'

/** Starts a PostgreSQL server on its core, with fsync, which the tests switch off. */
export async function startDurablePostgres(
  cores: Cores,
  overrides: Readonly<Record<string, string>> = {},
): ReturnType<typeof startPostgres> {
  // The server inherits the core of this process.
  moveTo(cores, cores.postgres)
  return startPostgres({ overrides: { fsync: 'on', full_page_writes: 'on', ...overrides } }).finally(() =>
    moveTo(cores, cores.load),
  )
}

/** Returns the connection string of a new database. */
export async function createDatabase(adminUrl: string, name: string): Promise<string> {
  const client = await connect(adminUrl)
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  const url = new URL(adminUrl)
  url.pathname = name
  return url.href
}

/** Holds a snapshot of a database open. PostgreSQL then keeps all row versions in it that are newer. */
export async function holdSnapshot(url: string): Promise<{ release(): Promise<void> }> {
  const client = await connect(url)
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1')
  return { release: () => client.end() }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}
