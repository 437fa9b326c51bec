import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { removeRunDirs } from '../../bench/data/databases.ts'
import { cleanEnv, type Env, trackChild } from '../../bench/host/processes.ts'
import { formatCount } from '../formatCount.ts'
import type { Engine } from '../load/target.ts'
import type { Check, RunOptions, Verdict } from '../verdict.ts'
import { startSoakLoad } from './load.ts'
import { type ProcessSample, type Sample, type Slope, slopesOf } from './samples.ts'
import { openStore } from './store.ts'

const adminKey = 'the-admin-key-of-the-soak-of-the-service'
/** Twice the longest retention, that of audit entries: what is kept levels off in the first half. In a short run, that of events. */
const simulatedDays = { full: 800, quick: 60 }
const fullSeconds = 30 * 60
const quickSeconds = 20
/** Many, because the rows vary by a fifth from one sample to the next. */
const sampleCount = { full: 240, quick: 60 }
const logsMax = 10
const rejectedMax = 0.01
/** Growth over the second half of the run that counts as level. A quick run has few samples, and the heap still grows. */
const growthMax = 0.1
const quickGrowthMax = 0.2

export const soak: Check = {
  name: 'soak',
  isMeasurement: true,
  isBackground: true,
  async run(options) {
    const engines = options.isQuick ? options.engines.slice(0, 1) : options.engines
    // At the same time: the load is low.
    const verdicts = await Promise.all(engines.map((engine) => soakOn(engine, options)))
    removeRunDirs()
    return verdicts
  },
}

async function soakOn(engine: Engine, { isQuick, log }: RunOptions): Promise<Verdict> {
  const seconds = isQuick ? quickSeconds : fullSeconds
  const store = await openStore(engine)
  const days = isQuick ? simulatedDays.quick : simulatedDays.full
  const count = isQuick ? sampleCount.quick : sampleCount.full
  const server = await startServer(store.env, (days * 86_400) / seconds)
  try {
    const load = await startSoakLoad(server.base, adminKey)
    const samples: Sample[] = []
    const startedAt = performance.now()
    const elapsed = () => (performance.now() - startedAt) / 1000
    while (elapsed() < seconds) {
      await pause((seconds * 1000) / count)
      const files = readdirSync(`/proc/${server.pid}/fd`).length
      samples.push({ atSeconds: elapsed(), files, ...(await server.sample()), ...(await store.measure()) })
      if (!isQuick && samples.length % (count / logsMax) === 0)
        log(`soak, ${engine}: ${JSON.stringify(samples.at(-1))}`)
    }
    await load.stop()
    const { requests, rejected, failed, delivered, streamed } = load.counts
    const slopes = slopesOf(samples)
    const max = isQuick ? quickGrowthMax : growthMax
    return {
      promise: `Memory, handles, files and tables level off (${engine})`,
      method: `${seconds} s of mixed load with orders, holds, retention, a webhook and 10 event streams, while the clock of the service passes ${days} days; rows without orders, which are kept; growth over the second half by least squares, at most ${100 * max} %; at most ${100 * rejectedMax} % of the requests rejected`,
      figures: `${slopes.map(describe).join(', ')}; ${formatCount(requests)} requests, ${formatCount(rejected)} rejected with 503, ${formatCount(failed)} failed, ${formatCount(delivered)} webhook messages, ${formatCount(streamed)} streamed events`,
      isHeld:
        slopes.every(({ growth }) => growth <= max) &&
        failed === 0 &&
        rejected <= rejectedMax * requests &&
        delivered > 0 &&
        streamed > 0,
    }
  } finally {
    await server.stop()
    await store.close()
  }
}

function describe({ name, mean, growth }: Slope): string {
  const value = mean > 1e6 ? `${(mean / 1e6).toFixed(1)} M` : mean.toFixed(0)
  return `${name} ${value} (${growth >= 0 ? '+' : ''}${(100 * growth).toFixed(1)} %)`
}

async function startServer(databaseEnv: Env, speed: number) {
  const file = fileURLToPath(new URL('server.ts', import.meta.url))
  const env = cleanEnv({
    ...databaseEnv,
    PORT: '0',
    PETSTORE_ADMIN_KEY: adminKey,
    PETSTORE_WEBHOOK_ALLOW: '127.0.0.0/8',
    PETSTORE_LOG_LEVEL: 'error',
    RELIABILITY_SPEED: String(speed),
  })
  const child = spawn(process.execPath, ['--expose-gc', file], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  trackChild(child)
  const lines = createInterface(child.stdout)
  const nextLine = async () => ((await once(lines, 'line')) as [string])[0]
  const base = await nextLine()
  return {
    base,
    pid: child.pid ?? 0,
    async sample(): Promise<ProcessSample> {
      const line = nextLine()
      child.stdin.write('\n')
      return JSON.parse(await line)
    },
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
