/**
 * Compares ways to store rate limit counts in PostgreSQL: a logged table with synchronous commit, a logged table with
 * asynchronous commit, and an unlogged table. The rounds are interleaved; the median of each is printed.
 * Run it on a scratch database: DATABASE_URL=postgres://... node bench/counting.ts
 */
import { Pool } from 'pg'
import { openMigrated } from '../src/database/open.ts'
import { median } from './statistics.ts'

const url = process.env.DATABASE_URL
if (url === undefined) throw new Error('Set DATABASE_URL.')
const rounds = 9
const roundMs = 2_000
const connections = 10
const keys = 50

const database = await openMigrated({ dataDir: '', databaseUrl: url }, Date.now())
await database.close()
const pool = new Pool({ connectionString: url, max: connections })

const variants: Record<string, { table: string; commit: string }> = {
  'logged, synchronous': { table: 'LOGGED', commit: 'on' },
  'logged, asynchronous': { table: 'LOGGED', commit: 'off' },
  unlogged: { table: 'UNLOGGED', commit: 'off' },
}
const plans = JSON.stringify({ enterprise: { perMinute: 1_000_000_000, perDay: 1_000_000_000 } })
await pool.query(`INSERT INTO api_keys (name, plan, scopes, origins, from_setting, created_at, unbanned_at)
  SELECT 'bench', 'enterprise', '[]', '[]', 0, 0, 0 FROM generate_series(1, ${keys})`)
await pool.query(`INSERT INTO api_key_secrets SELECT 'bench ' || (row_number() OVER ()), id, 0, NULL
  FROM (SELECT id FROM api_keys WHERE name = 'bench' ORDER BY id DESC LIMIT ${keys}) AS created ON CONFLICT DO NOTHING`)
const { rows: definition } = await pool.query("SELECT pg_get_functiondef('admit_1'::regproc) AS text")

const rates = new Map<string, number[]>(Object.keys(variants).map((name) => [name, []]))
for (let round = 0; round < rounds; round++) {
  for (const [name, { table, commit }] of Object.entries(variants)) {
    await pool.query(`ALTER TABLE key_usage SET ${table}`)
    await pool.query(
      definition[0].text.replace("'synchronous_commit', 'off'", `'synchronous_commit', '${commit}'`),
    )
    rates.get(name)?.push(await measureRate())
  }
}
await pool.query('ALTER TABLE key_usage SET LOGGED')
await pool.query(definition[0].text)
await pool.end()

const base = median(rates.get('logged, synchronous') as number[])
for (const [name, values] of rates)
  console.log(
    `${name.padEnd(24)} ${median(values).toFixed(0).padStart(7)} requests/s  ${(median(values) / base).toFixed(2)}x  (${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)})`,
  )

async function measureRate(): Promise<number> {
  const end = performance.now() + roundMs
  let count = 0
  const worker = async () => {
    while (performance.now() < end) {
      const hash = `bench ${1 + Math.floor(Math.random() * keys)}`
      await pool.query({
        name: 'admit',
        text: 'SELECT * FROM admit_1($1, false, 1, NULL, false, $2, $3, 100, 10000, 60, 86400, 100, NULL)',
        values: [hash, '127.0.0.1', plans],
      })
      count++
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  return count / (roundMs / 1000)
}
