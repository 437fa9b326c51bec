import { systemClock } from '../clock.ts'
import { type Config, readConfig, unknownSettingWarnings } from '../config.ts'
import { type Database, DatabaseUnavailableError, OutcomeUnknownError } from '../database/database.ts'
import { openDatabase, urlWithoutCredentials } from '../database/open.ts'
import { databaseFile } from '../database/sqlite/open.ts'
import { explainUnwritable, otherDataFolder, UnwritableError } from '../database/sqlite/unwritable.ts'

type Options = {
  /** Otherwise a missing database is an error: the settings probably name the wrong one. */
  readonly mayCreate?: boolean
  /** The schema is not migrated. The reason is part of the error if it is of an earlier version. */
  readonly noMigrationReason?: string
}

export class MissingDatabaseError extends Error {}

export const missingFile = (file: string): MissingDatabaseError =>
  new MissingDatabaseError(`There is no database at ${file}. Start the service, or set PETSTORE_DATA_DIR.`)

/** The settings of a command. Warns about those that are unknown. */
export function commandConfig(env: NodeJS.ProcessEnv): Config {
  const config = readConfig(env)
  for (const warning of unknownSettingWarnings(env)) console.error(`Warning: ${warning}`)
  return config
}

/** Opens the configured database for one command. A server can have it open at the same time. */
export async function withDatabase<T>(
  env: NodeJS.ProcessEnv,
  work: (database: Database, config: Config) => Promise<T>,
  { mayCreate = false, noMigrationReason }: Options = {},
): Promise<T> {
  const config = commandConfig(env)
  const readOnly = noMigrationReason === undefined ? {} : { noMigrationReason }
  const options = { ...config, ...readOnly, onMissing: onMissingDatabase(config, mayCreate) }
  const database = await openDatabase(options, systemClock())
  try {
    return await work(database, config)
  } catch (error) {
    throw explainDatabaseError(error, config)
  } finally {
    await database.close()
  }
}

/** The error to throw. If the data folder cannot be written, it says why. */
export const explainDatabaseError = (error: unknown, { databaseUrl, dataDir }: Config): unknown =>
  databaseUrl === undefined &&
  error instanceof DatabaseUnavailableError &&
  !(error instanceof OutcomeUnknownError)
    ? explainUnwritable(error, dataDir, otherDataFolder)
    : error

/** Returns the error to throw. If a folder cannot be written, its message begins with the outcome of the command. */
export const withOutcome = (outcome: string, error: unknown): unknown =>
  error instanceof UnwritableError ? new Error(`${outcome} ${error.message}`) : error

/** Fails if there is no database, or says that the command creates it. */
export const onMissingDatabase =
  ({ databaseUrl, dataDir }: Config, mayCreate: boolean) =>
  (): void => {
    const file = databaseFile(dataDir)
    const name = databaseUrl && `the PostgreSQL database at ${urlWithoutCredentials(databaseUrl)}`
    if (mayCreate) console.error(name ? `Creating the tables in ${name}.` : `Creating the database ${file}.`)
    else if (name)
      throw new MissingDatabaseError(
        `There are no tables in ${name}. Start the service or run "petstore migrate", or set DATABASE_URL.`,
      )
    else throw missingFile(file)
  }

/** The data directory, for commands that work only on the SQLite database. */
export function sqliteDataDir(env: NodeJS.ProcessEnv): string {
  const { dataDir, databaseUrl } = commandConfig(env)
  if (databaseUrl === undefined) return dataDir
  throw new Error(
    'This command works only on the SQLite database, but DATABASE_URL is set. Use the tools of PostgreSQL, such as pg_dump.',
  )
}
