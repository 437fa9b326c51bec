/**
 * How the counts of requests are best kept in PostgreSQL: a logged table waited for, a logged table not waited for, or
 * an unlogged one. Run it against a database that may be written to: DATABASE_URL=postgres://... node bench/counting.ts
 * Rounds are interleaved, so that what else the machine does meets all three alike; the median of each is printed.
 */
import { Pool } from 'pg'
import { openMigrated } from '../src/database/open.ts'

const url = process.env.DATABASE_URL
if (url === undefined) throw new Error('Set DATABASE_URL.')
const rounds = 9
const roundMs = 2_000
const connections = 10
const keys = 50

const store = await openMigrated({ dataDir: '', databaseUrl: url }, Date.now())
await store.close()
const pool = new Pool({ connectionString: url, max: connections })

const ways: Record<string, { table: string; commit: string }> = {
  'logged, waited for': { table: 'LOGGED', commit: 'on' },
  'logged, not waited for': { table: 'LOGGED', commit: 'off' },
  unlogged: { table: 'UNLOGGED', commit: 'off' },
}
const plans = JSON.stringify({ enterprise: { perMinute: 1_000_000_000, perDay: 1_000_000_000 } })
await pool.query(`INSERT INTO api_keys (name, plan, scopes, origins, from_setting, created_at, unbanned_at)
  SELECT 'bench', 'enterprise', '[]', '[]', 0, 0, 0 FROM generate_series(1, ${keys})`)
await pool.query(`INSERT INTO api_key_secrets SELECT 'bench ' || (row_number() OVER ()), id, 0, NULL
  FROM (SELECT id FROM api_keys WHERE name = 'bench' ORDER BY id DESC LIMIT ${keys}) AS made ON CONFLICT DO NOTHING`)
const { rows: body } = await pool.query("SELECT pg_get_functiondef('admit_1'::regproc) AS text")

const figures = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]))
for (let round = 0; round < rounds; round++) {
  for (const [name, { table, commit }] of Object.entries(ways)) {
    await pool.query(`ALTER TABLE key_usage SET ${table}`)
    await pool.query(body[0].text.replace("'synchronous_commit', 'off'", `'synchronous_commit', '${commit}'`))
    figures.get(name)?.push(await countForAWhile())
  }
}
await pool.query('ALTER TABLE key_usage SET LOGGED')
await pool.query(body[0].text)
await pool.end()

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
const base = median(figures.get('logged, waited for') as number[])
for (const [name, values] of figures)
  console.log(
    `${name.padEnd(24)} ${median(values).toFixed(0).padStart(7)} requests/s  ${(median(values) / base).toFixed(2)}x  (${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)})`,
  )

async function countForAWhile(): Promise<number> {
  const end = performance.now() + roundMs
  let count = 0
  const work = async () => {
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
  await Promise.all(Array.from({ length: connections }, work))
  return count / (roundMs / 1000)
}
