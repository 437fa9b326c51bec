import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { createRunDir } from '../../bench/data/databases.ts'
import { assignCores } from '../../bench/host/cores.ts'
import type { Env } from '../../bench/host/processes.ts'
import { createDatabase, startDurablePostgres } from '../../bench/servers/postgres.ts'
import type { Engine } from '../load/target.ts'

/** The database of the service, as it is seen from outside. */
export type Store = {
  readonly env: Env
  /** Rows of all tables but the orders, which are never deleted. */
  measure(): Promise<{ databaseBytes: number; rows: number }>
  close(): Promise<void>
}

/** As by default, but every 10 seconds: the clock of the service is fast. The tests switch it off. */
const vacuum = { autovacuum: 'on', autovacuum_naptime: '10s' }

export const openStore = (engine: Engine): Promise<Store> =>
  engine === 'sqlite' ? openSqlite() : openPostgres()

async function openSqlite(): Promise<Store> {
  const dir = createRunDir()
  return {
    env: { PETSTORE_DATA_DIR: dir },
    async measure() {
      const database = new DatabaseSync(join(dir, 'petstore.db'), { readOnly: true })
      const tables = database
        .prepare(
          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'orders' AND sql NOT LIKE 'CREATE VIRTUAL%'",
        )
        .all() as { name: string }[]
      const count = (name: string) => Number(database.prepare(`SELECT count(*) AS n FROM "${name}"`).get()?.n)
      const rows = tables.reduce((sum, { name }) => sum + count(name), 0)
      database.close()
      const files = readdirSync(dir).map(
        (name) => statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0,
      )
      return { databaseBytes: files.reduce((sum, size) => sum + size, 0), rows }
    },
    close: async () => {},
  }
}

async function openPostgres(): Promise<Store> {
  const postgres = await startDurablePostgres(assignCores(), vacuum)
  const url = await createDatabase(postgres.adminUrl, 'soak')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    env: { DATABASE_URL: url },
    async measure() {
      const tables = await client.query(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'orders'",
      )
      let rows = 0
      for (const { tablename } of tables.rows)
        rows += Number((await client.query(`SELECT count(*) AS n FROM "${tablename}"`)).rows[0].n)
      const size = await client.query('SELECT pg_database_size(current_database()) AS n')
      return { databaseBytes: Number(size.rows[0].n), rows }
    },
    async close() {
      await client.end()
      await postgres.stop()
    },
  }
}
