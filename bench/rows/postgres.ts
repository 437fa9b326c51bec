/** Row 8: the service on PostgreSQL, alone and with two others, against bare servers on the same tables. */
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../../test/support/postgres.ts'
import type { Bench } from '../bench.ts'
import { type Figure, notRun, rows } from '../figures.ts'
import type { Request } from '../load.ts'
import { moveTo, pinned } from '../machine.ts'
import { here, runProgram, type Server, startServer } from '../processes.ts'
import { requestsWith } from '../requests.ts'
import { type Contestant, compare, describeRounds, playRounds } from '../rounds.ts'
import { startService } from '../servers.ts'
import { animals, createKey, petstore } from '../stores.ts'

const pool = '10'
/** A page is the same of so many; they only take less time to put in. */
const animalsQuick = 20_000

/**
 * A PostgreSQL of its own, as the tests start it, but with fsync. It is not on the core of the servers, since in earnest
 * it would not be on their machine.
 */
export async function postgres(bench: Bench): Promise<Figure[]> {
  const { cores, options, progress } = bench
  progress('PostgreSQL: starting')
  moveTo(cores, cores.postgres)
  const database = await startPostgres().finally(() => moveTo(cores, cores.load))
  try {
    const env = { DATABASE_URL: database.adminUrl, PETSTORE_DATABASE_POOL: pool }
    const count = options.isQuick ? animalsQuick : animals
    progress(`PostgreSQL: ${count} animals`)
    await runProgram(petstore('seed', '--count', String(count)), env)
    await beDurable(database.adminUrl)
    const { list } = requestsWith(await createKey(env))
    const one = await play(bench, env, list, 1)
    return options.isQuick ? one : [...one, ...(await play(bench, env, list, 3))]
  } catch (error) {
    return [rows.postgres, ...(options.isQuick ? [] : [rows.postgresThree])].map((row) => notRun(row, error))
  } finally {
    await database.stop()
  }
}

/** The tests' PostgreSQL does without, since its data does not outlive the run. */
export async function beDurable(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const setting of ['fsync', 'full_page_writes']) await client.query(`ALTER SYSTEM SET ${setting} = on`)
  await client.query('SELECT pg_reload_conf()')
  await client.end()
}

async function play(
  bench: Bench,
  env: Record<string, string>,
  list: Request,
  count: 1 | 3,
): Promise<Figure[]> {
  const { cores } = bench
  const started: Server[] = []
  const all = async (start: (core: string) => Promise<Server>) => {
    const servers: Server[] = []
    for (const core of count === 1 ? [cores.server] : cores.three) servers.push(await start(core))
    started.push(...servers)
    return servers
  }
  try {
    const ours = await all((core) => startService(cores, { core, folder: '', env }))
    const theirs = await all((core) => {
      const command = [process.execPath, join(here, 'bare', 'postgres.ts')]
      return startServer({
        name: 'bare pg',
        command: pinned(cores, core, command),
        env: { ...env, PORT: '0' },
      })
    })
    const contestants: Contestant[] = [
      { name: `petstore x ${count}`, servers: ours, request: list },
      { name: `bare pg x ${count}`, servers: theirs, request: list },
    ]
    const title = `PostgreSQL, list, ${count === 1 ? 'one instance' : 'three instances'}`
    const [our = [], their = []] = (await playRounds(bench, title, contestants)).values()
    const row = count === 1 ? rows.postgres : rows.postgresThree
    const detail = `${describeRounds(our)}; bare ${describeRounds(their)}`
    return [{ row, ...compare(our, their), detail }]
  } finally {
    await Promise.all(started.map((server) => server.stop()))
  }
}
