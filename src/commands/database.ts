import { systemClock } from '../clock.ts'
import { type Config, readConfig } from '../config.ts'
import type { Database } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'

/** Opens the configured database for one command. A server can have it open at the same time. */
export async function withDatabase<T>(
  env: NodeJS.ProcessEnv,
  work: (database: Database, config: Config) => Promise<T>,
): Promise<T> {
  const config = readConfig(env)
  const database = await openDatabase(config, systemClock())
  try {
    return await work(database, config)
  } finally {
    await database.close()
  }
}

/** The data directory, for commands that work only on the embedded database. */
export function embeddedDataDir(env: NodeJS.ProcessEnv): string {
  const { dataDir, databaseUrl } = readConfig(env)
  if (databaseUrl === undefined) return dataDir
  throw new Error(
    'This command works only on the embedded database, but DATABASE_URL is set. Use the tools of PostgreSQL, such as pg_dump.',
  )
}
