import pg from 'pg'
import type { DatabaseEnv } from './engine.ts'

/** Runs one statement on a connection of its own. */
export async function queryOnce(env: DatabaseEnv, text: string): Promise<pg.QueryResult['rows']> {
  const client = new pg.Client({ connectionString: env.DATABASE_URL })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

export const tablesQuery =
  "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname"
