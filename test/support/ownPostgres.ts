import { readdirSync, readFileSync, rmSync } from 'node:fs'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { type StoreEnv, temporaryFolder } from './engine.ts'
import { startPostgres } from './postgres.ts'

/** A PostgreSQL of one test's own, which may be treated badly: no other test is on it. */
export type OwnPostgres = {
  readonly storeEnv: StoreEnv
  readonly databaseName: string
  /** Says something to it as its superuser. */
  administer(statement: string): Promise<pg.QueryResult>
  /** The first of its processes, and all others. */
  readonly postmaster: number
  children(): number[]
}

const databaseName = 'petstore_own'

export async function ownPostgresFor(t: Pick<TestContext, 'after'>): Promise<OwnPostgres> {
  const { adminUrl, stop } = await startPostgres()
  t.after(stop)
  const administer = async (statement: string) => {
    const client = new pg.Client({ connectionString: adminUrl })
    client.on('error', () => {})
    await client.connect()
    try {
      return await client.query(statement)
    } finally {
      await client.end()
    }
  }
  await administer(`CREATE DATABASE ${databaseName}`)
  const url = new URL(adminUrl)
  url.pathname = databaseName
  const { rows } = await administer("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
  const postmaster = parentOf(rows[0].pid) as number
  const folder = temporaryFolder()
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return {
    storeEnv: { PETSTORE_DATA_DIR: folder, DATABASE_URL: url.href },
    databaseName,
    administer,
    postmaster,
    children: () =>
      readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map(Number)
        .filter((pid) => parentOf(pid) === postmaster),
  }
}

/** The parent of a process, from the fourth field of its state; the second, its name, may hold anything but is in brackets. */
function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined // It has ended meanwhile.
  }
}
