import { DatabaseSync } from 'node:sqlite'

/**
 * A database for data that may not fit into memory. SQLite creates a database without a name in the folder for temporary
 * files and removes the name of the file at once: the file is deleted when the process ends, even after a crash.
 */
export function openTemporaryDatabase(schema: string): DatabaseSync {
  const database = new DatabaseSync('')
  database.exec(`
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    ${schema}`)
  return database
}
