import type { TestContext } from 'node:test'
import { redactor } from '../../src/auth/apiKey.ts'
import type { Bounds } from '../../src/bounds.ts'
import { readConfig } from '../../src/config.ts'
import type { Database } from '../../src/database/database.ts'
import { type Service, startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { BunHost, bunPath } from './bunService.ts'
import { type Client, createClient } from './client.ts'
import {
  type DatabaseEnv,
  databaseEnvIn,
  engine,
  newDatabase,
  openTestDatabase,
  removeDatabase,
} from './engine.ts'

/** The time stands still until a test moves it. */
export const startOfTests = Date.UTC(2026, 10, 15, 12, 0, 0)

export type TestService = Client & {
  /** The settings that name its database. A restart and a command on the same database have the same. */
  readonly databaseEnv: DatabaseEnv
  readonly dataDir: string
  readonly base: string
  readonly operatorKey: string
  /** The log so far. */
  readonly logLines: string[]
  /** Moves the service's clock forward. */
  advance(ms: number): void
  now(): number
  /** Resolves when the service reports that its disk has failed. */
  readonly failed: Promise<void>
  /** Stops cleanly and starts again on the same database. The address changes. */
  restart(env?: Record<string, string>): Promise<void>
  /** The database, opened a second time to read or change it without the service. */
  openDatabase(): Promise<Database>
  /** Stops cleanly and removes the database, unless the settings named it. */
  stop(): Promise<void>
  /** Creates a key through the API. `key` is its secret. */
  makeKey(settings?: Record<string, unknown>): Promise<{ id: number; key: string }>
}

/**
 * Intervals of half a second and more, shortened. The search index is not written, and no load is too high. On PostgreSQL,
 * looking for due work takes more CPU time than most tests.
 */
const testBounds = {
  burstMaxMs: 3_600_000,
  limiterFlushMs: 100,
  indexDelayMs: 3_600_000,
  dueMs: engine === 'postgres' ? 500 : 100,
  changePollMs: 100,
  replicaCheckMs: 100,
}

/** Bounds with which the search index is written. In other tests only their requests write. */
export const withIndexing = { indexDelayMs: 10 }

export type TestServiceOptions = {
  /** `now` is the time of the start. */
  startAt?: number | 'now'
  bounds?: Partial<Bounds>
  nameServers?: readonly string[]
  /** A module that exports operations and pages, which the service has besides its own. */
  additional?: URL
}

/** A service in this process, for work with commands: it starts at the time of this machine, and is stopped after the test. */
export async function serviceFor(
  t: Pick<TestContext, 'after'>,
  env: Record<string, string> = {},
): Promise<TestService> {
  const service = await startTestService(env, { startAt: 'now' })
  t.after(() => service.stop())
  return service
}

/** A real service on a free port with a fresh database and a clock that the test moves. */
export async function startTestService(
  env: Record<string, string> = {},
  { startAt = startOfTests, bounds = {}, nameServers, additional }: TestServiceOptions = {},
): Promise<TestService> {
  const givenDatabase = databaseEnvIn(env)
  const databaseEnv = givenDatabase ?? (await newDatabase())
  const host = bunPath === undefined ? undefined : new BunHost()
  const logLines: string[] = []
  let time = startAt === 'now' ? Date.now() : startAt
  host?.setTime(time)
  const start = async (more: Record<string, string>): Promise<Omit<Service, 'stopProgress'>> => {
    const fullEnv = { PORT: '0', ...databaseEnv, ...env, ...more }
    const common = { bounds: { ...testBounds, ...bounds }, ...(nameServers && { nameServers }) }
    if (host)
      return host.start({ env: fullEnv, ...common, ...(additional && { additional: additional.href }) })
    const { log } = createLog({
      level: 'info',
      redact: redactor(env.PETSTORE_ADMIN_KEY),
      stream: { write: (line: string) => void logLines.push(line) },
    })
    const clock = () => time
    return startService({
      ...{ config: readConfig(fullEnv), clock, limitClock: clock, log, ...common },
      ...(additional && { additional: await import(additional.href) }),
    })
  }
  let service = await start({})
  const operatorKey = service.newOperatorKey ?? env.PETSTORE_ADMIN_KEY ?? ''
  let opened: Promise<Database> | undefined
  let client = createClient(`http://127.0.0.1:${service.port}`)

  const test: TestService = {
    databaseEnv,
    dataDir: databaseEnv.PETSTORE_DATA_DIR,
    operatorKey,
    get logLines() {
      return host?.logLines ?? logLines
    },
    get base() {
      return `http://127.0.0.1:${service.port}`
    },
    request: (method, path, options) => client.request(method, path, options),
    closeConnections: () => client.closeConnections(),
    advance: (ms) => {
      time += ms
      host?.setTime(time)
    },
    now: () => time,
    get failed() {
      return service.failed
    },
    async restart(more = {}) {
      client.closeConnections()
      await service.stop()
      service = await start(more)
      client = createClient(`http://127.0.0.1:${service.port}`)
    },
    openDatabase() {
      opened ??= openTestDatabase(databaseEnv, time)
      return opened
    },
    async stop() {
      client.closeConnections()
      await service.stop()
      await (await opened)?.close()
      host?.remove()
      if (givenDatabase === undefined) await removeDatabase(databaseEnv)
    },
    async makeKey(settings = {}) {
      const response = await client.request('POST', '/v1/keys', {
        key: operatorKey,
        body: { name: 'test', ...settings },
      })
      if (response.status !== 201) throw new Error(`The key was not created: ${response.text}`)
      return response.json as { id: number; key: string }
    },
  }
  return test
}
