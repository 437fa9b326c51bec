import { DatabaseSync } from 'node:sqlite'
import { isFull, isIoError } from '../database/sqlite/driver.ts'

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

/** Returns the error to throw. If a temporary database cannot be written, it says what to do. */
export const explainTemporary = (error: unknown, name: string): unknown =>
  isFull(error) || isIoError(error)
    ? new Error(
        `The ${name} cannot be written (${(error as Error).message}): set TMPDIR to a folder with enough space.`,
        { cause: error },
      )
    : error
