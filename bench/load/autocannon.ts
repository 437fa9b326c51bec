/** autocannon as a program of its own, with what wrk.lua takes and gives: for machines that have no wrk. */
import autocannon from 'autocannon'
import { seededRandom } from '../statistics.ts'

const {
  BENCH_URL: url = '',
  BENCH_METHOD: method = 'GET',
  BENCH_PATH: path = '/',
  BENCH_BODY: body,
} = process.env
const { BENCH_HEADERS: headerLines = '', BENCH_IDS: ids = '0', BENCH_SEED: seed = '1' } = process.env
const { BENCH_CONNECTIONS: connections = '1', BENCH_SECONDS: seconds = '1' } = process.env

const headers = Object.fromEntries(
  headerLines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
)
const random = seededRandom(Number(seed))
const common = {
  method: method as 'GET' | 'POST',
  path,
  headers,
  ...(body !== undefined && { body }),
}
const setupRequest = (request: autocannon.Request) => ({
  ...request,
  path: path.replace('{id}', String(1 + Math.floor(random() * Number(ids)))),
})

const started = performance.now()
const run = autocannon(
  {
    url,
    connections: Number(connections),
    // It takes whole seconds; what is shorter is stopped below.
    duration: Math.ceil(Number(seconds)),
    timeout: 60,
    requests: [path.includes('{id}') ? { ...common, setupRequest } : common],
  },
  (error, result) => {
    if (error) throw error
    const cpu = process.cpuUsage()
    console.log(
      JSON.stringify({
        requests: result['2xx'] + result.non2xx,
        seconds: (performance.now() - started) / 1000,
        bytes: result.throughput.total,
        badAnswers: result.non2xx,
        failures: result.errors + result.timeouts,
        p50Ms: result.latency.p50,
        p99Ms: result.latency.p99,
        cpuSeconds: (cpu.user + cpu.system) / 1e6,
      }),
    )
  },
)
// Whoever started us may stop us from now on.
const stop = () => (run as unknown as { stop(): void }).stop()
process.on('SIGINT', stop)
console.error('begun')
if (!Number.isInteger(Number(seconds))) setTimeout(stop, Number(seconds) * 1000)
