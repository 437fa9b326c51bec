import { setTimeout as pause } from 'node:timers/promises'
import { type Database, DatabaseUnavailableError } from './database.ts'
import { claimEnvironment } from './metadata.ts'
import { isMigrated, migrate } from './migrate.ts'
import { explain, isFinal } from './postgres/errors.ts'
import { holdServerLock, openSqlite } from './sqlite/open.ts'

/** Where a store is: in a folder, or in the PostgreSQL that the address names. */
export type Location = {
  readonly dataDir: string
  readonly databaseUrl?: string | undefined
  readonly databasePoolMax?: number
}

/** A server has other needs than a command that comes and goes. */
type Use = { readonly isServing?: boolean; readonly syncMaxMs?: number }

type OpenOptions = Location & { readonly environment: string; readonly isAutoMigrate?: boolean }

const poolMaxDefault = 10
const openWaitMaxMs = 10_000
const openRetryMs = 250

/** Opens the store of an environment, creating and migrating it where needed. */
export function openDatabase(options: OpenOptions & Use, now: number): Promise<Database> {
  return opened(options, async (database) => {
    if (options.isAutoMigrate ?? true) await migrate(database, now)
    else if (!(await isMigrated(database))) {
      throw new Error(
        'The schema of the store is not the one of this version, and PETSTORE_AUTO_MIGRATE is false: run "petstore migrate" first, or the newer version that wrote it.',
      )
    }
    await claimEnvironment(database, options.environment)
  })
}

/** For a server, which has an embedded store to itself as long as it lives. */
export async function openForServing(options: OpenOptions & Use, now: number): Promise<Database> {
  if (options.databaseUrl !== undefined) return openDatabase(options, now)
  const release = holdServerLock(options.dataDir)
  try {
    const database = await openDatabase({ ...options, isServing: true }, now)
    // A store that could not be closed is still in use: the lock then ends with the process.
    return { ...database, close: () => database.close().then(release) }
  } catch (error) {
    release()
    throw error
  }
}

/** Opens a store of whichever environment. */
export function openMigrated(location: Location, now: number): Promise<Database> {
  return opened(location, (database) => migrate(database, now))
}

/** Brings the schema of a store up to date; answers the steps that were taken. */
export async function migrateStore(location: Location, now: number): Promise<string[]> {
  let steps: string[] = []
  const database = await opened(location, async (found) => {
    steps = await migrate(found, now)
  })
  await database.close()
  return steps
}

async function opened(
  location: Location & Use,
  prepare: (database: Database) => Promise<unknown>,
): Promise<Database> {
  const database = await openOrSay(location)
  try {
    if (location.databaseUrl === undefined) await prepare(database)
    else await patiently(() => prepare(database))
    return database
  } catch (error) {
    await database.close()
    if (!(error instanceof DatabaseUnavailableError) || location.databaseUrl === undefined) throw error
    throw new Error(
      `The PostgreSQL at ${shownUrl(location.databaseUrl)} cannot be used (${explain(error)}): see DATABASE_URL.`,
    )
  }
}

/** A PostgreSQL that starts together with us, or is busy, may need a moment; one that refuses us will not change its mind. */
async function patiently(work: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + openWaitMaxMs
  for (;;) {
    try {
      await work()
      return
    } catch (error) {
      if (
        !(error instanceof DatabaseUnavailableError) ||
        isFinal(error.cause) ||
        performance.now() > deadline
      )
        throw error
      await pause(openRetryMs)
    }
  }
}

/** The address without what is secret in it. */
export function shownUrl(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl)
  return `${host}${pathname}`
}

async function openOrSay(location: Location & Use): Promise<Database> {
  const { dataDir, databaseUrl, databasePoolMax, isServing, syncMaxMs } = location
  if (databaseUrl !== undefined) {
    // An embedded store needs no driver.
    const { openPostgres } = await import('./postgres/open.ts')
    return openPostgres({ url: databaseUrl, poolMax: databasePoolMax ?? poolMaxDefault })
  }
  try {
    return openSqlite(dataDir, { isServing, syncMaxMs })
  } catch (error) {
    const reason = (error as Error).message
    throw new Error(
      `The store in ${dataDir} cannot be opened (${reason}): see PETSTORE_DATA_DIR, or restore a backup.`,
    )
  }
}
