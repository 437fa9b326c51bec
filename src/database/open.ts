import type { Database } from './database.ts'
import { claimEnvironment } from './facts.ts'
import { migrate } from './migrate.ts'
import { openSqlite } from './sqlite.ts'

export type OpenOptions = { readonly dataDir: string; readonly environment: string }

/** Opens the store of an environment, creating and migrating it where needed. */
export async function openDatabase({ dataDir, environment }: OpenOptions, now: number): Promise<Database> {
  const database = await openMigrated(dataDir, now)
  try {
    await claimEnvironment(database, environment)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Opens a store of whichever environment. */
export async function openMigrated(dataDir: string, now: number): Promise<Database> {
  const database = openOrSay(dataDir)
  try {
    await migrate(database, now)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

function openOrSay(dataDir: string): Database {
  try {
    return openSqlite(dataDir)
  } catch (error) {
    const reason = (error as Error).message
    throw new Error(
      `The store in ${dataDir} cannot be opened (${reason}): see PETSTORE_DATA_DIR, or restore a backup.`,
    )
  }
}
