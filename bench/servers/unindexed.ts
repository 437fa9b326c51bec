/**
 * Starts the service of the checkout BENCH_SERVICE_DIR without updates of the search index: the first one is due after
 * the bench has ended. Everything else is as `petstore serve` does it.
 */
import { join } from 'node:path'

const dir = process.env.BENCH_SERVICE_DIR ?? ''
const load = <Module>(file: string): Promise<Module> => import(join(dir, 'src', file))
const { startService } = await load<typeof import('../../src/service.ts')>('service.ts')
const { readServerConfig } = await load<typeof import('../../src/config.ts')>('config.ts')
const { createLog } = await load<typeof import('../../src/telemetry/log.ts')>('telemetry/log.ts')
const { redactor } = await load<typeof import('../../src/auth/apiKey.ts')>('auth/apiKey.ts')

const dayMs = 86_400_000
const { BENCH_SERVICE_DIR: _, ...env } = process.env
const config = await readServerConfig(env)
const { log } = createLog({ level: config.logLevel, redact: redactor(config.adminKey), format: 'json' })
const service = await startService({ config, clock: Date.now, log, bounds: { indexDelayMs: dayMs } })
process.on('SIGTERM', async () => {
  await service.stop()
  process.exit()
})
console.log(`http://127.0.0.1:${service.port}`)
