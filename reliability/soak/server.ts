/**
 * The service with a clock that runs faster, so that holds expire and retention deletes rows within the run. For each line
 * on standard input, it collects garbage and prints its memory and handles.
 */
import { createInterface } from 'node:readline'
import { redactor } from '../../src/auth/apiKey.ts'
import { readServerConfig } from '../../src/config.ts'
import { startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import type { ProcessSample } from './samples.ts'

const { RELIABILITY_SPEED, ...env } = process.env
const speed = Number(RELIABILITY_SPEED)
const startedAt = Date.now()
const clock = () => Math.floor(startedAt + (Date.now() - startedAt) * speed)
const config = await readServerConfig(env)
const { log } = createLog({
  level: config.logLevel,
  redact: redactor(config.adminKey),
  format: 'json',
  stream: process.stderr,
})
const bounds = { sweepMs: 1_000, usageFlushMs: 1_000 }
const service = await startService({ config, clock, limitClock: clock, log, bounds })
process.on('SIGTERM', async () => {
  await service.stop()
  process.exit()
})
console.log(`http://127.0.0.1:${service.port}`)
for await (const _ of createInterface(process.stdin)) {
  globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  const sample: ProcessSample = { rss, heapUsed, handles: process.getActiveResourcesInfo().length }
  console.log(JSON.stringify(sample))
}
