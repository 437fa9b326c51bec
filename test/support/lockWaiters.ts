import type { TestContext } from 'node:test'
import pg from 'pg'
import type { DatabaseEnv } from './engine.ts'
import { eventually } from './eventually.ts'

/** A connection of its own. */
export async function clientFor(t: Pick<TestContext, 'after'>, env: DatabaseEnv): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: env.DATABASE_URL })
  // The database may be removed first.
  client.on('error', () => {})
  await client.connect()
  t.after(() => client.end())
  return client
}

/** How many connections wait for a lock. */
export const waitersOf = async (client: pg.Client): Promise<number> => {
  const { rows } = await client.query(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  )
  return Number(rows[0].count)
}

export const untilWaiting = (client: pg.Client, count = 1) =>
  eventually(`${count} wait for a lock`, async () => (await waitersOf(client)) >= count)
