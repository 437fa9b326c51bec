import type { Database } from './database.ts'
import { migrate } from './migrate.ts'
import { openSqlite } from './sqlite.ts'

/** Opens the store, creating and migrating it where needed. */
export async function openDatabase(dataDir: string, now: number): Promise<Database> {
  const database = openSqlite(dataDir)
  try {
    await migrate(database, now)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}
