/**
 * Writes databases of a release to test/fixtures, one for each engine: `npm run fixture -- X.Y.Z [--program FILE]`. Later
 * versions are tested on them (test/store/upgrades.slow.test.ts). See CONTRIBUTING.md.
 *
 * The program makes every row, by requests and commands. Nothing is written to its database directly.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startPostgres } from '../test/support/postgres.ts'
import { postgresRows, type Rows, sqliteRows } from './fixture/dump.ts'
import { fill } from './fixture/fill.ts'
import { Program } from './fixture/program.ts'
import { root } from './project.ts'

const environment = 'staging'

/** Each of these is in the fixture. The statuses are those of the API. */
const required = [
  ...['available', 'pending', 'sold'].map((status) => `pets WHERE status = '${status}'`),
  ...['placed', 'approved', 'delivered', 'cancelled'].map((status) => `orders WHERE status = '${status}'`),
  "orders WHERE cancel_reason IS NOT NULL AND status = 'cancelled'",
  ...['enabled', 'paused', 'disabled'].map((status) => `webhooks WHERE status = '${status}'`),
  ...['pending', 'delivered', 'failed'].map((status) => `webhook_deliveries WHERE status = '${status}'`),
  'webhook_deliveries WHERE event_id IS NULL',
  'key_usage WHERE banned_until > last_used_at',
  'api_keys WHERE unbanned_at > 0',
  'api_keys WHERE from_setting = 1',
  'api_key_secrets WHERE expires_at IS NOT NULL',
  'categories WHERE category_id < 0',
]

/** Fails unless every table has a row, every column a value, and every state that a row can have is there. */
async function assertComplete(rows: Rows): Promise<void> {
  const missing: string[] = []
  for (const [table, columns] of await rows.columns())
    for (const column of columns)
      if (!(await rows.exists(`${table} WHERE ${column} IS NOT NULL`))) missing.push(`${table}.${column}`)
  for (const condition of required) if (!(await rows.exists(condition))) missing.push(condition)
  if (missing.length > 0) throw new Error(`The fixture has no ${missing.join(', no ')}.`)
}

async function make(engine: 'sqlite' | 'postgres', version: string, programFile: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-fixture-'))
  const postgres = engine === 'postgres' ? await startPostgres() : undefined
  try {
    const databaseUrl = postgres && (await createDatabase(postgres.adminUrl))
    const program = new Program(programFile, {
      PETSTORE_ENV: environment,
      PETSTORE_DATA_DIR: folder,
      ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    })
    const rows = databaseUrl === undefined ? sqliteRows(folder) : await postgresRows(databaseUrl)
    const secrets = await fill(program, rows, folder)
    const header = { version, environment, madeAt: Date.now(), secrets }
    await assertComplete(rows)
    const file = join(root, `test/fixtures/database-${version}.${engine}.sql`)
    writeFileSync(file, `-- ${JSON.stringify(header)}\n${await rows.dump()}`)
    await rows.close()
    console.log(`Wrote ${file}.`)
  } finally {
    await postgres?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function createDatabase(adminUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  await client.query('CREATE DATABASE petstore_fixture')
  await client.end()
  const url = new URL(adminUrl)
  url.pathname = 'petstore_fixture'
  return url.href
}

const { values, positionals } = parseArgs({
  options: { program: { type: 'string', default: join(root, 'bin/petstore.js') } },
  allowPositionals: true,
})
const [version = '', ...others] = positionals
if (!/^\d+\.\d+\.\d+$/.test(version) || others.length > 0)
  throw new Error('Usage: npm run fixture -- X.Y.Z [--program FILE]')
if (!existsSync(values.program)) throw new Error(`There is no program ${values.program}.`)
for (const engine of ['sqlite', 'postgres'] as const) await make(engine, version, resolve(values.program))
