import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import type { Database } from '../../database/database.ts'
import type { Db } from '../../database/db.ts'
import { readMetadata } from '../../database/metadata.ts'
import { migrations } from '../../database/migrate.ts'
import { openUnchecked, urlWithoutCredentials } from '../../database/open.ts'
import { SqliteDb } from '../../database/sqlite/driver.ts'
import { exists } from '../../database/sqlite/files.ts'
import { databaseFile } from '../../database/sqlite/open.ts'
import { type Finding, findingsOf } from './finding.ts'

const clockDifferenceMaxMs = 2_000
const { ok, warning, problem } = findingsOf('database')
const clock = findingsOf('clock')

export const checkDatabase = (config: Config): Promise<Finding | Finding[]> =>
  config.databaseUrl === undefined
    ? checkSqlite(config)
    : checkPostgres(config, urlWithoutCredentials(config.databaseUrl))

async function checkSqlite({ dataDir, environment }: Config): Promise<Finding | Finding[]> {
  const file = databaseFile(dataDir)
  try {
    if (!exists(file))
      return warning(`There is no database at ${file} yet.`, 'Start the service, or set PETSTORE_DATA_DIR.')
    using connection = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
    const damage = String(connection.prepare('PRAGMA quick_check(1)').get()?.quick_check)
    if (damage !== 'ok')
      return problem(
        `${file} is damaged (${damage}).`,
        'Stop the service and restore a backup: petstore restore.',
      )
    const db = new SqliteDb(connection)
    const newest = await db.selectFrom('events').select('created_at').orderBy('id', 'desc').limit(1).execute()
    return [
      await checkSchema(db, `SQLite database ${file}`, environment),
      // An event in the past is normal, and only one in the future shows a wrong clock.
      checkClock(Math.max(0, (newest[0]?.created_at ?? 0) - systemClock()), 'the newest event'),
    ]
  } catch (error) {
    const { message } = error as Error
    return problem(`${file} cannot be read (${message}).`, 'Check its owner and modes, or restore a backup.')
  }
}

async function checkSchema(db: Db, name: string, environment: string): Promise<Finding> {
  const rows = await db.selectFrom('schema_migrations').select('version').execute()
  const owner = (await readMetadata(db, 'environment')) ?? environment
  const versions = `${name}, schema version ${rows.length} of ${migrations.length}, ${owner}.`
  if (owner !== environment)
    return problem(versions, `PETSTORE_ENV is ${environment}. Use the database of this environment.`)
  if (rows.length > migrations.length)
    return problem(versions, 'Run the newer version of petstore that migrated it.')
  if (rows.length < migrations.length) return warning(versions, 'Make a backup, then run: petstore migrate')
  return ok(versions)
}

async function checkPostgres(config: Config, name: string): Promise<Finding | Finding[]> {
  const onMissing = () => {
    throw new Error(`There are no tables in the PostgreSQL database at ${name}.`)
  }
  let database: Database | undefined
  try {
    database = await openUnchecked({ ...config, onMissing })
    const before = systemClock()
    const time = sql<number>`floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`.as('time')
    const found = await database.read.selectNoFrom(time).executeTakeFirst()
    return [
      await checkSchema(database.read, `PostgreSQL database ${name}`, config.environment),
      checkClock((found?.time ?? before) - (before + systemClock()) / 2, 'the database'),
    ]
  } catch (error) {
    return problem(
      (error as Error).message,
      'Check DATABASE_URL and the server, and run "petstore migrate" for a new database.',
    )
  } finally {
    await database?.close()
  }
}

/** Rate limits, holds and expiry depend on the time. */
function checkClock(differenceMs: number, other: string): Finding {
  const absoluteMs = Math.abs(differenceMs)
  return absoluteMs > clockDifferenceMaxMs
    ? clock.warning(
        `The clock of this machine and that of ${other} differ by ${Math.round(absoluteMs / 1000)} s.`,
        'Synchronize the clock, for example with chrony or systemd-timesyncd.',
      )
    : clock.ok(`The clock of this machine agrees with ${other}.`)
}
