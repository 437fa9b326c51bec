/** Runs autocannon with the input and output of wrk.lua, for machines without wrk. */
import autocannon from 'autocannon'
import { seededRandom } from '../statistics.ts'

const { env } = process
const path = env.BENCH_PATH ?? '/'
const seconds = Number(env.BENCH_SECONDS)

const headers = Object.fromEntries(
  (env.BENCH_HEADERS ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
)
const random = seededRandom(Number(env.BENCH_SEED))
const ids = Number(env.BENCH_IDS)
const sequencePlaceholder = '{sequence}'
let sequence = Number(env.BENCH_SEQUENCE)
const request = {
  method: env.BENCH_METHOD as 'GET' | 'POST' | 'PATCH',
  path,
  headers,
  ...(env.BENCH_BODY !== undefined && { body: env.BENCH_BODY }),
}
const setupRequest = (each: autocannon.Request) => {
  const withId = (id: number) => {
    const filled = (text: string) => text.replace('{id}', String(id))
    const filledHeaders = Object.entries(headers).map(([name, value]) => [name, filled(value)])
    return { ...each, path: filled(path), headers: Object.fromEntries(filledHeaders) }
  }
  if (!env.BENCH_BODY?.includes(sequencePlaceholder)) return withId(1 + Math.floor(random() * ids))
  const number = String(++sequence).padStart(sequencePlaceholder.length, '0')
  return { ...withId((sequence % ids) + 1), body: env.BENCH_BODY.replace(sequencePlaceholder, number) }
}

const startedAt = performance.now()
const run = autocannon(
  {
    url: env.BENCH_URL ?? '',
    connections: Number(env.BENCH_CONNECTIONS),
    // autocannon accepts whole seconds only. The timer below stops it earlier if needed.
    duration: Math.ceil(seconds),
    timeout: 60,
    requests: [`${path}${env.BENCH_HEADERS}`.includes('{id}') ? { ...request, setupRequest } : request],
  },
  (error, result) => {
    if (error) throw error
    const cpu = process.cpuUsage()
    console.log(
      JSON.stringify({
        requests: result['2xx'] + result.non2xx,
        seconds: (performance.now() - startedAt) / 1000,
        bytes: result.throughput.total,
        non2xx: result.non2xx,
        errors: result.errors + result.timeouts,
        cpuSeconds: (cpu.user + cpu.system) / 1e6,
      }),
    )
  },
)
const stop = () => (run as unknown as { stop(): void }).stop()
process.on('SIGINT', stop)
console.error('started')
if (!Number.isInteger(seconds)) setTimeout(stop, seconds * 1000)
