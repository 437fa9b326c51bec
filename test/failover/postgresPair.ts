import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { eventually } from '../support/eventually.ts'
import {
  findPrograms,
  freePort,
  giveTo,
  initialise,
  type RunsAs,
  run,
  startServer,
  unprivilegedUser,
  user,
} from '../support/postgresPrograms.ts'
import { childrenOf } from '../support/separatePostgres.ts'

export const databaseName = 'petstore'
const standbyName = 'standby'
const standbyWaitMaxMs = 60_000
const promoteWaitMaxSeconds = 60

/** Both servers are as durable as in production. */
const settings = {
  fsync: 'on',
  full_page_writes: 'on',
  // A new standby starts from the log that was written since its copy began.
  wal_keep_size: '1GB',
}

/** Everything but the log, which the standby gets from the primary, and the files of the running server. */
const copyScript = `
  rm -rf "$1" && mkdir -m 700 "$1" "$1/pg_wal" && cd "$0" && for item in *; do
    case $item in pg_wal | postmaster.*) ;; *) cp -Rp "$item" "../$1/" || exit 1 ;; esac
  done`

/** What happens to a primary. */
export const failures = {
  'its main process was killed': (server: PostgresServer) => server.killPostmaster(),
  'all its processes were killed at the same moment': (server: PostgresServer) => server.killAll(),
  'it no longer responded, and was killed after the promotion': (server: PostgresServer) => server.freeze(),
}

class PostgresServer {
  readonly port: number
  readonly data: string
  #process: ChildProcess | undefined
  #closed: Promise<unknown> = Promise.resolve()
  #frozen: number[] = []

  constructor(port: number, data: string) {
    this.port = port
    this.data = data
  }

  set process(started: ChildProcess) {
    this.#process = started
    this.#closed = once(started, 'close')
  }

  /** The other processes notice it and end. */
  killPostmaster(): void {
    process.kill(this.#postmaster, 'SIGKILL')
  }

  killAll(): void {
    this.freeze()
    this.killFrozen()
  }

  /** Stops all processes, the first one first, so that it cannot start others. Connections stay open. */
  freeze(): void {
    process.kill(this.#postmaster, 'SIGSTOP')
    this.#frozen = [this.#postmaster, ...childrenOf(this.#postmaster)]
    for (const pid of this.#frozen) process.kill(pid, 'SIGSTOP')
  }

  unfreeze(): void {
    for (const pid of this.#frozen.splice(0)) process.kill(pid, 'SIGCONT')
  }

  killFrozen(): void {
    for (const pid of this.#frozen.splice(0)) process.kill(pid, 'SIGKILL')
  }

  /** Waits until all its processes have ended. */
  async ended(): Promise<void> {
    this.killFrozen()
    await this.#closed
  }

  stop(): void {
    this.killFrozen()
    this.#process?.kill('SIGQUIT')
  }

  get #postmaster(): number {
    return this.#process?.pid as number
  }
}

/** Two PostgreSQL servers. One is the primary, and the other its synchronous standby. */
export class PostgresPair {
  primary: PostgresServer
  standby: PostgresServer
  readonly #folder: string
  readonly #bin: string
  readonly #runsAs: RunsAs
  readonly #password: string

  static async start(t: Pick<TestContext, 'after'>): Promise<PostgresPair> {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-failover-'))
    const runsAs = process.getuid?.() === 0 ? await unprivilegedUser() : {}
    giveTo(runsAs, folder)
    const bin = await findPrograms(folder)
    const password = randomBytes(16).toString('hex')
    await initialise(folder, bin, password, runsAs)
    const accessFile = join(folder, 'data', 'pg_hba.conf')
    const access = readFileSync(accessFile, 'utf8')
    writeFileSync(accessFile, `host postgres haproxy 127.0.0.1/32 trust\n${access}`)
    const servers = [
      new PostgresServer(await freePort(), 'data'),
      new PostgresServer(await freePort(), 'data-2'),
    ] as const
    const pair = new PostgresPair(servers, folder, bin, runsAs, password)
    pair.#stopAfter(t)
    await pair.#start(pair.primary)
    await pair.administer(`CREATE DATABASE ${databaseName}`)
    await pair.administer('CREATE ROLE haproxy LOGIN CONNECTION LIMIT 10')
    await pair.addStandby()
    return pair
  }

  private constructor(
    [primary, standby]: readonly [PostgresServer, PostgresServer],
    folder: string,
    bin: string,
    runsAs: RunsAs,
    password: string,
  ) {
    this.primary = primary
    this.standby = standby
    this.#folder = folder
    this.#bin = bin
    this.#runsAs = runsAs
    this.#password = password
  }

  get ports(): number[] {
    return [this.primary.port, this.standby.port]
  }

  urlAt(port: number, database: string): string {
    return `postgres://${user}:${this.#password}@127.0.0.1:${port}/${database}`
  }

  /** Runs a statement as the superuser of the primary or another server. */
  administer(statement: string, { port } = this.primary): Promise<pg.QueryResult> {
    return this.#withClient(this.urlAt(port, 'postgres'), (client) => client.query(statement))
  }

  /** Runs statements in the database of the service. They do not wait for the standby. */
  async changeLocally(statements: string): Promise<void> {
    await this.#withClient(this.urlAt(this.primary.port, databaseName), (client) =>
      client.query(`SET synchronous_commit = local; ${statements}`),
    )
  }

  /** Makes the other server a new synchronous standby, from a copy of the primary. */
  async addStandby(): Promise<void> {
    const { primary, standby } = this
    await standby.ended()
    await this.#withClient(this.urlAt(primary.port, 'postgres'), async (client) => {
      await client.query("SELECT pg_backup_start('standby', true)")
      await run('sh', ['-c', copyScript, primary.data, standby.data], this.#folder, this.#runsAs)
      const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)')
      this.#writeFile(standby, 'backup_label', rows[0].labelfile)
    })
    const source = `host=127.0.0.1 port=${primary.port} user=${user} password=${this.#password} application_name=${standbyName}`
    // After its promotion it has no standby at first, and must not wait for one.
    this.#writeFile(standby, 'postgresql.auto.conf', `primary_conninfo = '${source}'\n`)
    this.#writeFile(standby, 'standby.signal', '')
    await this.#start(standby)
    await this.administer(`ALTER SYSTEM SET synchronous_standby_names = '${standbyName}'`)
    await this.administer('SELECT pg_reload_conf()')
    await eventually('the standby is synchronous', () => this.isSynchronous(), standbyWaitMaxMs)
  }

  async isSynchronous(): Promise<boolean> {
    const { rows } = await this.administer(
      "SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'",
    )
    return rows.length === 1
  }

  /** The servers change their roles. */
  async promote(): Promise<void> {
    const statement = `SELECT pg_promote(true, ${promoteWaitMaxSeconds}) AS is_done`
    const { rows } = await this.administer(statement, this.standby)
    if (!rows[0].is_done) throw new Error('The standby was not promoted.')
    ;[this.primary, this.standby] = [this.standby, this.primary]
  }

  /** Restarts the primary without a clean stop. Returns when the standby has caught up. */
  async restart(): Promise<void> {
    this.primary.stop()
    await this.primary.ended()
    await this.#start(this.primary)
    await eventually('the standby is synchronous', () => this.isSynchronous(), standbyWaitMaxMs)
  }

  /** Starts the old primary as it was. Then both servers claim to be the primary. */
  async startOldPrimary(): Promise<void> {
    await this.standby.ended()
    await this.#start(this.standby)
  }

  async #start(server: PostgresServer): Promise<void> {
    const { data, port } = server
    const started = await startServer(this.#folder, data, this.#bin, this.#runsAs, settings, port)
    server.process = started.server
  }

  #writeFile({ data }: PostgresServer, name: string, content: string): void {
    const path = join(this.#folder, data, name)
    writeFileSync(path, content)
    giveTo(this.#runsAs, path)
  }

  async #withClient<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString })
    client.on('error', () => {})
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }

  /** Also if this process ends before the test is over. */
  #stopAfter(t: Pick<TestContext, 'after'>): void {
    const servers = [this.primary, this.standby]
    const stop = () => {
      for (const server of servers) server.stop()
    }
    const remove = () => rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
    process.once('exit', stop)
    process.once('exit', remove)
    t.after(async () => {
      stop()
      for (const server of servers) await server.ended()
      process.off('exit', stop)
      process.off('exit', remove)
      remove()
    })
  }
}
