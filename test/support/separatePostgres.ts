import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { type DatabaseEnv, temporaryFolder } from './engine.ts'
import { startPostgres } from './postgres.ts'

/** A PostgreSQL server that one test may damage: no other test uses it. */
export type OwnPostgres = {
  readonly databaseEnv: DatabaseEnv
  readonly databaseName: string
  /** Runs a statement as its superuser. */
  administer(statement: string): Promise<pg.QueryResult>
  /** The id of its main process, and those of the others. */
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
  const postmaster = parents().get(rows[0].pid) as number
  const folder = temporaryFolder()
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return {
    databaseEnv: { PETSTORE_DATA_DIR: folder, DATABASE_URL: url.href },
    databaseName,
    administer,
    postmaster,
    children: () => childrenOf(postmaster),
  }
}

export const childrenOf = (pid: number): number[] =>
  [...parents()].filter(([, parent]) => parent === pid).map(([child]) => child)

/** The parent of every process: from /proc on Linux, where `ps` may not be installed, and from `ps` on macOS. */
function parents(): Map<number, number> {
  if (!existsSync('/proc/self/stat')) {
    const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
    return new Map(lines.map((line) => line.trim().split(/\s+/).map(Number) as [number, number]))
  }
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const pairs = pids.map((name) => [Number(name), parentOf(Number(name))] as const)
  return new Map(pairs.filter((pair): pair is [number, number] => pair[1] !== undefined))
}

/** The fourth field of the state. The second, the name, may contain any character but is in parentheses. */
function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined // The process has ended.
  }
}
