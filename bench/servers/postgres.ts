import pg from 'pg'
import { startPostgres } from '../../test/support/postgres.ts'
import { type Cores, moveTo } from '../host/cores.ts'

/** Starts a PostgreSQL server on its core, with fsync, which the tests switch off. */
export async function startDurablePostgres(cores: Cores): ReturnType<typeof startPostgres> {
  // The server inherits the core of this process.
  moveTo(cores, cores.postgres)
  const postgres = await startPostgres().finally(() => moveTo(cores, cores.load))
  const client = new pg.Client({ connectionString: postgres.adminUrl })
  await client.connect()
  for (const setting of ['fsync', 'full_page_writes']) await client.query(`ALTER SYSTEM SET ${setting} = on`)
  await client.query('SELECT pg_reload_conf()')
  await client.end()
  return postgres
}
