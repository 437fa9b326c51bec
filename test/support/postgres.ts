import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import {
  findPrograms,
  giveTo,
  initialise,
  run,
  startServer,
  unprivilegedUser,
  user,
} from './postgresPrograms.ts'

/**
 * A real PostgreSQL server on a free port of this machine, in a temporary folder.
 *
 * A guard process, which is this file run as a program, supervises it. The guard's standard input closes when the
 * process that started it ends, also if it was killed. The guard then stops PostgreSQL and removes its folder.
 */
type Postgres = Urls & { stop(): Promise<void> }

type Urls = {
  /** The superuser's connection string: postgres://user:password@127.0.0.1:port/postgres */
  readonly adminUrl: string
  /** The same for its streaming replica. Empty without one. */
  readonly replicaAdminUrl: string
}

type StartOptions = {
  readonly hasReplica?: boolean
  /** Replaces settings, which ALTER SYSTEM cannot do: they are command-line options of the server. */
  readonly overrides?: Readonly<Record<string, string>>
}

export async function startPostgres(options: StartOptions = {}): Promise<Postgres> {
  const guard = spawn(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(options)], {
    // A separate session: an interrupt at the terminal must not end it before it has cleaned up.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let problem = ''
  guard.stderr.setEncoding('utf8').on('data', (text: string) => {
    problem += text
  })
  const ended = once(guard, 'close')
  const urls = await Promise.race([
    once(createInterface(guard.stdout), 'line').then(([line]) => JSON.parse(line) as Urls),
    ended.then(() => {
      throw new Error(`PostgreSQL could not be started.\n${problem}`)
    }),
  ])
  return {
    ...urls,
    async stop() {
      guard.stdin.end()
      await ended
    },
  }
}

async function guard({ hasReplica = false, overrides = {} }: StartOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-postgres-'))
  // Set before PostgreSQL starts: the parent process may end before that, and then no one reads the output.
  process.stdout.on('error', () => {})
  const released = Promise.race([
    once(process.stdin.resume(), 'close'),
    once(process, 'SIGTERM'),
    once(process, 'SIGINT'),
    once(process, 'SIGHUP'),
  ])
  const servers: ChildProcess[] = []
  try {
    const runsAs = process.getuid?.() === 0 ? await unprivilegedUser() : {}
    giveTo(runsAs, folder)
    const bin = await findPrograms(folder)
    const password = randomBytes(16).toString('hex')
    await initialise(folder, bin, password, runsAs)
    // Copied before the first start, when nothing changes it.
    if (hasReplica) await run('cp', ['-Rp', 'data', 'replica'], folder, runsAs)
    const deaths: Promise<never>[] = []
    const start = async (data: string) => {
      const { server, port, logTail } = await startServer(folder, data, bin, runsAs, overrides)
      servers.push(server)
      const died = once(server, 'close').then(() => {
        throw new Error(`PostgreSQL ended by itself.\n${logTail()}`)
      })
      died.catch(() => {})
      deaths.push(died)
      return port
    }
    const urlOf = (port: number) => `postgres://${user}:${password}@127.0.0.1:${port}/postgres`
    const port = await start('data')
    let replicaAdminUrl = ''
    if (hasReplica) {
      const source = `host=127.0.0.1 port=${port} user=${user} password=${password}`
      appendFileSync(join(folder, 'replica', 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
      writeFileSync(join(folder, 'replica', 'standby.signal'), '')
      giveTo(runsAs, join(folder, 'replica', 'standby.signal'))
      replicaAdminUrl = urlOf(await start('replica'))
    }
    console.log(JSON.stringify({ adminUrl: urlOf(port), replicaAdminUrl } satisfies Urls))
    await Promise.race([released, ...deaths])
  } finally {
    for (const server of servers) {
      if (server.exitCode !== null || server.signalCode !== null) continue
      const closed = once(server, 'close')
      // Immediate shutdown: the folder is removed anyway.
      server.kill('SIGQUIT')
      await closed
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

if (import.meta.main) await guard(JSON.parse(process.argv[2] ?? '{}'))
