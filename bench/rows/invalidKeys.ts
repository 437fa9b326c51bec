/** Row 20: the latency of a caller with a valid key while an address sends requests with made-up keys, on PostgreSQL. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKey } from '../data/checkout.ts'
import { seedPets } from '../data/searchIndex.ts'
import { pinned } from '../host/cores.ts'
import { cleanEnv, runProgram, type Server, trackChild } from '../host/processes.ts'
import { benchDir, findProgram } from '../host/programs.ts'
import { otherCpuShareMax, watchOtherProcesses } from '../host/usage.ts'
import type { LatencyReport } from '../load/latencyReport.ts'
import type { BenchContext, Measurement } from '../measure/context.ts'
import { startDurablePostgres } from '../servers/postgres.ts'
import { requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { median, spreadOf } from '../statistics.ts'
import { rows } from '../targets.ts'

const strangerCount = 1_900
const callerCount = 4
const petCount = 1_000
/** A response can take a tenth of a second, so shorter rounds would have few of them. */
const secondsMin = 3
const roundsMax = 9
/** Until the requests of the last round have ended. */
const drainMs = 500

type ListRequest = ReturnType<typeof requestsWith>['list']
type Latency = LatencyReport & { readonly rejectedPerSecond: number }

export const invalidKeys: Measurement = {
  rows: [rows.madeUpKeysPostgres],
  async run(context) {
    const { cores, options, checkout, progress } = context
    progress('made-up keys: starting PostgreSQL')
    const postgres = await startDurablePostgres(cores)
    try {
      const env = { DATABASE_URL: postgres.adminUrl }
      await seedPets(checkout, env, petCount)
      const { list } = requestsWith(await createKey(checkout, env))
      // The connections of a round may still be closing when those of the next round open.
      const limits = { PETSTORE_CONNECTIONS_PER_ADDRESS: String(3 * strangerCount) }
      const service = await startService(cores, checkout, { dataDir: '', env: { ...env, ...limits } })
      try {
        const seconds = Math.max(options.seconds, secondsMin)
        const measure = (isWellFormed: boolean) =>
          measureCaller(context, service, list, isWellFormed, seconds)
        progress('made-up keys: warming up')
        await measure(true)
        const otherCpuShare = watchOtherProcesses(cores.server, [service.pid])
        const madeUp: Latency[] = []
        const malformed: Latency[] = []
        const rounds = Math.min(options.rounds, roundsMax)
        for (let round = 0; round < rounds; round++) {
          for (const isWellFormed of round % 2 === 0 ? [true, false] : [false, true]) {
            const latency = await measure(isWellFormed)
            ;(isWellFormed ? madeUp : malformed).push(latency)
            const name = isWellFormed ? 'made-up' : 'malformed'
            progress(
              `made-up keys: round ${round + 1} of ${rounds}, ${name}: p50 ${latency.p50Ms.toFixed(1)} ms`,
            )
          }
        }
        return [
          {
            row: rows.madeUpKeysPostgres,
            measured: spreadOf(
              madeUp.map(({ p50Ms }, round) => p50Ms / (malformed[round]?.p50Ms ?? Number.NaN)),
            ),
            isDisturbed: otherCpuShare() > otherCpuShareMax,
            detail: `${describe(madeUp)}; against ${describe(malformed)}`,
          },
        ]
      } finally {
        await service.stop()
      }
    } finally {
      await postgres.stop()
    }
  },
}

function describe(latencies: readonly Latency[]): string {
  const middle = (pick: (latency: Latency) => number) => median(latencies.map(pick))
  const rate = Math.round(middle(({ rejectedPerSecond }) => rejectedPerSecond)).toLocaleString('en')
  const p99 = middle(({ p99Ms }) => p99Ms).toFixed(0)
  return `p50 ${middle(({ p50Ms }) => p50Ms).toFixed(1)} ms, p99 ${p99} ms, ${rate} rejected/s`
}

/** The latency of the list while all others are rejected. They run at a lower priority on the load generator's core. */
async function measureCaller(
  { cores }: BenchContext,
  service: Server,
  { path, headers }: ListRequest,
  isWellFormed: boolean,
  seconds: number,
): Promise<Latency> {
  const nice = findProgram('nice') ? ['nice', '-n', '10'] : []
  const load = (program: string) => [process.execPath, join(benchDir, 'load', program)]
  const [program = '', ...args] = pinned(cores, cores.load, [...nice, ...load('invalidKeys.ts')])
  const common = { BENCH_PORT: String(service.port), BENCH_PATH: path }
  const env = {
    ...common,
    BENCH_CONNECTIONS: String(strangerCount),
    BENCH_IS_WELL_FORMED: String(isWellFormed),
  }
  const child = spawn(program, args, { env: cleanEnv(env), stdio: ['ignore', 'pipe', 'inherit'] })
  trackChild(child)
  const exited = once(child, 'exit')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  if ((await lines.next()).done) throw new Error('The connections with invalid keys could not be opened.')
  const startedAt = performance.now()
  try {
    const output = await runProgram(pinned(cores, cores.load, load('closedLoopReaders.ts')), {
      ...common,
      BENCH_CONNECTIONS: String(callerCount),
      BENCH_AUTHORIZATION: headers.Authorization ?? '',
      BENCH_SECONDS: String(seconds),
    })
    child.kill('SIGTERM')
    const elapsedSeconds = (performance.now() - startedAt) / 1000
    const { value } = await lines.next()
    const { 401: invalid = 0, 429: limited = 0, ...others } = JSON.parse(value ?? '{}')
    if (limited === 0 || Object.keys(others).length > 0)
      throw new Error(`Responses to invalid keys: ${value}`)
    return { ...JSON.parse(output), rejectedPerSecond: (invalid + limited) / elapsedSeconds }
  } finally {
    child.kill('SIGTERM')
    await exited
    await sleep(drainMs)
  }
}
