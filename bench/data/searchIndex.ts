/** The search index of a database that is filled. Otherwise the service would fill it during the measurement. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { withDatabase } from '../../src/commands/database.ts'
import type { Database } from '../../src/database/database.ts'
import { lastEventId } from '../../src/events/queries.ts'
import { indexStep, needsIndexing } from '../../src/listings/indexing.ts'
import { searchIndexOf } from '../../src/listings/searchIndexes.ts'
import { type Env, runProgram } from '../host/processes.ts'
import { type Checkout, petstore } from './checkout.ts'

/** As the service does. */
const stepsPerMerge = 4

/** Adds pets to a database, and builds its index. */
export async function seedPets(checkout: Checkout, env: Env, count: number): Promise<void> {
  await runProgram(petstore(checkout, 'seed', '--count', String(count)), env)
  await buildSearchIndex(checkout, env)
}

export async function buildSearchIndex({ dir }: Checkout, env: Env): Promise<void> {
  // Earlier versions have no index.
  if (!existsSync(join(dir, 'src', 'listings'))) return
  // In a separate process, because statements of SQLite block the event loop and signals would not be handled.
  await runProgram([process.execPath, fileURLToPath(import.meta.url)], env)
}

/** In the steps of the service, so that the index of SQLite has the same parts. */
async function buildIndex(database: Database): Promise<void> {
  // Not `readableThrough` alone: for a command on SQLite it is above every id, and the service would follow nothing.
  const through = await lastEventId(database.read, await database.readableThrough())
  const index = searchIndexOf(database.read)
  for (let step = 1; await needsIndexing(database.read, through); step++)
    await database.write(async (trx) => {
      await indexStep(trx, through, Date.now)
      if (step % stepsPerMerge === 0) await index.merge?.(trx)
    })
  while (await database.write(async (trx) => index.merge?.(trx)));
}

/** The index of PostgreSQL is created after the terms are written, which takes a tenth of the time. */
async function buildPostgresIndex(database: Database, url: string): Promise<void> {
  // Its own connection: the service limits the time of a statement.
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    "SELECT indexdef FROM pg_indexes WHERE indexname = 'listing_terms_by_term'",
  )
  await client.query('DROP INDEX listing_terms_by_term')
  await buildIndex(database)
  await client.query(rows[0].indexdef)
  await client.query('VACUUM ANALYZE')
  await client.end()
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await withDatabase(process.env, (database, { databaseUrl }) =>
    databaseUrl === undefined ? buildIndex(database) : buildPostgresIndex(database, databaseUrl),
  )
