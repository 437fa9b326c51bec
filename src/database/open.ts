import { type Database, DatabaseUnavailableError, LockTimeoutError } from './database.ts'
import { claimEnvironment } from './metadata.ts'
import { assertMigrated, migrate } from './migrate.ts'
import { isConfigurationError, rootCauseMessage } from './postgres/errors.ts'
import { withRetry } from './retry.ts'
import { acquireServerLock } from './sqlite/fileLock.ts'
import { exists } from './sqlite/files.ts'
import { databaseFile, openSqlite } from './sqlite/open.ts'
import { explainUnwritable, otherDataFolder } from './sqlite/unwritable.ts'

/** A folder for SQLite, or the URL of a PostgreSQL database, and how to open it. */
type DatabaseLocation = {
  readonly dataDir: string
  readonly databaseUrl?: string | undefined
  readonly databaseReadUrl?: string | undefined
  readonly databasePoolMax?: number
  /** Called if there is no database, before it is created. It throws if it must not be created. */
  readonly onMissing?: () => void
  readonly isServing?: boolean
  readonly syncMaxMs?: number
  readonly replicaLagMaxMs?: number
  /** How late changes of other processes are noticed. The engines have different defaults. */
  readonly changePollMs?: number
}

type OpenOptions = DatabaseLocation & {
  readonly environment: string
  readonly isAutoMigrate?: boolean
  /** Why a database of an earlier version is an error instead of being migrated. */
  readonly noMigrationReason?: string
}

const poolMaxDefault = 10
/** A replica that is further behind is not used. */
export const defaultReplicaLagMaxMs = 10_000
/** Retries while PostgreSQL starts or is busy, but not if it rejects the login or the database. */
const startRetry = {
  waitMaxMs: 10_000,
  retryMs: 250,
  isRetryable: (error: unknown) =>
    error instanceof DatabaseUnavailableError && !isConfigurationError(error.cause),
}

/** Opens the database of an environment. Creates and migrates it if needed. */
export function openDatabase(options: OpenOptions, now: number): Promise<Database> {
  const prepare = async (database: Database) => {
    const { noMigrationReason, isAutoMigrate = true } = options
    if (noMigrationReason !== undefined) await assertMigrated(database, noMigrationReason)
    else if (isAutoMigrate) await migrate(database, now)
    else await assertMigrated(database, 'PETSTORE_AUTO_MIGRATE is false')
    await claimEnvironment(database, options.environment)
  }
  return explained(options, () => openAndPrepare(options, prepare))
}

/** Opens a database for a server. With SQLite there is one server at a time. */
export async function openForServing(options: OpenOptions, now: number): Promise<Database> {
  if (options.databaseUrl !== undefined) return openDatabase(options, now)
  const release = await explained(options, async () => acquireServerLock(options.dataDir))
  try {
    const database = await openDatabase({ ...options, isServing: true }, now)
    // If closing fails, the database is still in use, and the lock is held until the process exits.
    return { ...database, close: () => database.close().then(release) }
  } catch (error) {
    release()
    throw error
  }
}

/** Opens the database of any environment and version, as it is. */
export const openUnchecked = (location: DatabaseLocation): Promise<Database> =>
  openAndPrepare(location, async () => {})

/** Opens the database of any environment. */
export function openMigrated(location: DatabaseLocation, now: number): Promise<Database> {
  return openAndPrepare(location, (database) => migrate(database, now))
}

/** Applies the missing migrations and returns their names. */
export async function migrateDatabase(location: DatabaseLocation, now: number): Promise<string[]> {
  let names: string[] = []
  const prepare = async (database: Database) => {
    names = await migrate(database, now)
  }
  const database = await explained(location, () => openAndPrepare(location, prepare))
  await database.close()
  return names
}

/** If the data folder cannot be written, the error says why. */
async function explained<T>({ databaseUrl, dataDir }: DatabaseLocation, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw databaseUrl === undefined ? explainUnwritable(error, dataDir, otherDataFolder) : error
  }
}

async function openAndPrepare(location: DatabaseLocation, prepare: (database: Database) => Promise<unknown>) {
  const database = await open(location)
  const { databaseUrl, onMissing } = location
  try {
    if (databaseUrl === undefined) await prepare(database)
    else {
      await withRetry(async () => {
        const { read } = database
        if (onMissing && !(await read.dialect.hasTable(read, 'schema_migrations'))) onMissing()
        await prepare(database)
      }, startRetry)
    }
    return database
  } catch (error) {
    await database.close()
    if (!(error instanceof DatabaseUnavailableError) || databaseUrl === undefined) throw error
    if (error instanceof LockTimeoutError) {
      throw new Error(
        'Another transaction in PostgreSQL, such as that of a backup, blocks the migration: run it again when the transaction has ended.',
      )
    }
    throw new Error(
      `The PostgreSQL database at ${urlWithoutCredentials(databaseUrl)} cannot be used (${rootCauseMessage(error)}): see DATABASE_URL.`,
    )
  }
}

async function open(location: DatabaseLocation): Promise<Database> {
  const { dataDir, databaseUrl: url, databaseReadUrl, onMissing, ...options } = location
  if (url !== undefined) {
    // Imported only when needed: SQLite needs no driver.
    const { openPostgres } = await import('./postgres/open.ts')
    const { databasePoolMax: poolMax = poolMaxDefault, replicaLagMaxMs = defaultReplicaLagMaxMs } = options
    const replica = databaseReadUrl ? { url: databaseReadUrl, lagMaxMs: replicaLagMaxMs } : undefined
    return openPostgres({ url, poolMax, replica, ...options })
  }
  if (!exists(databaseFile(dataDir))) onMissing?.()
  try {
    return await openSqlite(dataDir, options)
  } catch (error) {
    throw new Error(
      `The database in ${dataDir} cannot be opened (${(error as Error).message}): see PETSTORE_DATA_DIR, or restore a backup.`,
      { cause: error },
    )
  }
}

export function urlWithoutCredentials(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl)
  return `${host}${pathname}`
}
