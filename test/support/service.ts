import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { type Bounds, startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { type Client, createClient } from './client.ts'

/** Any moment will do, so long as it stands still until a test moves it. */
export const startOfTests = Date.UTC(2026, 10, 15, 12, 0, 0)

export type TestService = Client & {
  readonly dataDir: string
  readonly base: string
  readonly operatorKey: string
  /** Every line of the log so far. */
  readonly logLines: string[]
  /** Moves the service's clock forward. */
  advance(ms: number): void
  now(): number
  /** Stops cleanly and starts again on the same store; the address changes. */
  restart(env?: Record<string, string>): Promise<void>
  stop(): Promise<void>
  /** Makes a key through the API and answers its secret. */
  makeKey(settings?: Record<string, unknown>): Promise<{ id: number; key: string }>
}

export type TestServiceOptions = { startAt?: number; bounds?: Partial<Bounds> }

/** A real service with a real store in a folder of its own, on a free port, with a clock that the test moves. */
export async function startTestService(
  env: Record<string, string> = {},
  { startAt = startOfTests, bounds = {} }: TestServiceOptions = {},
): Promise<TestService> {
  const dataDir = mkdtempSync(join(tmpdir(), 'petstore-test-'))
  const logLines: string[] = []
  let time = startAt
  const start = (more: Record<string, string>) => {
    const { log } = createLog('info', { write: (line: string) => void logLines.push(line) })
    const config = readConfig({ PORT: '0', PETSTORE_DATA_DIR: dataDir, ...env, ...more })
    return startService({ config, clock: () => time, log, bounds })
  }
  let service = await start({})
  const operatorKey = service.newOperatorKey ?? env.PETSTORE_ADMIN_KEY ?? ''
  let client = createClient(`http://127.0.0.1:${service.port}`)

  const test: TestService = {
    dataDir,
    operatorKey,
    logLines,
    get base() {
      return `http://127.0.0.1:${service.port}`
    },
    request: (method, path, options) => client.request(method, path, options),
    closeConnections: () => client.closeConnections(),
    advance: (ms) => {
      time += ms
    },
    now: () => time,
    async restart(more = {}) {
      client.closeConnections()
      await service.stop()
      service = await start(more)
      client = createClient(`http://127.0.0.1:${service.port}`)
    },
    async stop() {
      client.closeConnections()
      await service.stop()
      rmSync(dataDir, { recursive: true, force: true })
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
