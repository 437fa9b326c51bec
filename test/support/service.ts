import { readConfig } from '../../src/config.ts'
import type { Database } from '../../src/database/database.ts'
import { type Bounds, type Service, startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { BunHost, bunPath } from './bunService.ts'
import { type Client, createClient } from './client.ts'
import { newStore, openStore, removeStore, type StoreEnv, storeEnvIn } from './engine.ts'

/** Any moment will do, so long as it stands still until a test moves it. */
export const startOfTests = Date.UTC(2026, 10, 15, 12, 0, 0)

export type TestService = Client & {
  /** What names its store; a restart, and a command beside it, have the same. */
  readonly storeEnv: StoreEnv
  readonly dataDir: string
  readonly base: string
  readonly operatorKey: string
  /** Every line of the log so far. */
  readonly logLines: string[]
  /** Moves the service's clock forward. */
  advance(ms: number): void
  now(): number
  /** Settles when the service says that its disk has failed. */
  readonly failed: Promise<void>
  /** Stops cleanly and starts again on the same store; the address changes. */
  restart(env?: Record<string, string>): Promise<void>
  /** The store itself, opened beside the service: to look into it, or to change it behind the service's back. */
  store(): Promise<Database>
  /** Stops cleanly; the store goes too, unless the settings named it. */
  stop(): Promise<void>
  /** Makes a key through the API and answers its secret. */
  makeKey(settings?: Record<string, unknown>): Promise<{ id: number; key: string }>
}

export type TestServiceOptions = {
  startAt?: number
  bounds?: Partial<Bounds>
  nameServers?: readonly string[]
}

/** A real service with a real store of its own, on a free port, with a clock that the test moves. */
export async function startTestService(
  env: Record<string, string> = {},
  { startAt = startOfTests, bounds = {}, nameServers }: TestServiceOptions = {},
): Promise<TestService> {
  const givenStore = storeEnvIn(env)
  const storeEnv = givenStore ?? (await newStore())
  const host = bunPath === undefined ? undefined : new BunHost()
  const logLines: string[] = []
  let time = startAt
  host?.setTime(time)
  const start = (more: Record<string, string>): Promise<Service> => {
    const fullEnv = { PORT: '0', ...storeEnv, ...env, ...more }
    const common = { bounds, ...(nameServers && { nameServers }) }
    if (host) return host.start({ env: fullEnv, ...common })
    const { log } = createLog('info', { write: (line: string) => void logLines.push(line) })
    const clock = () => time
    return startService({ config: readConfig(fullEnv), clock, limitClock: clock, log, ...common })
  }
  let service = await start({})
  const operatorKey = service.newOperatorKey ?? env.PETSTORE_ADMIN_KEY ?? ''
  let opened: Promise<Database> | undefined
  let client = createClient(`http://127.0.0.1:${service.port}`)

  const test: TestService = {
    storeEnv,
    dataDir: storeEnv.PETSTORE_DATA_DIR,
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
    store() {
      opened ??= openStore(storeEnv, time)
      return opened
    },
    async stop() {
      client.closeConnections()
      await service.stop()
      await (await opened)?.close()
      host?.remove()
      if (givenStore === undefined) await removeStore(storeEnv)
    },
    async makeKey(settings = {}) {
      const answer = await client.request('POST', '/v1/keys', {
        key: operatorKey,
        body: { name: 'test', ...settings },
      })
      if (answer.status !== 201) throw new Error(`No key was made: ${answer.text}`)
      return answer.json as { id: number; key: string }
    },
  }
  return test
}
