import { systemClock } from '../clock.ts'
import { type Config, readConfig } from '../config.ts'
import type { Database } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'

/** Opens the store that the environment names, for one command; a server may have it open too. */
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

/** For people a sentence, for scripts (`--json`) one line of JSON. */
export function printResult(
  isJson: boolean | undefined,
  result: Record<string, unknown>,
  sentence: string,
): void {
  console.log(isJson ? JSON.stringify(result) : sentence)
}

export const embeddedOnlyMessage =
  'This is for the embedded store, but DATABASE_URL is set: back up PostgreSQL with its own tools, such as pg_dump.'
