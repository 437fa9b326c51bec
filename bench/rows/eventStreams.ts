/** Row 13: the CPU time of a create with and without open event streams. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKey } from '../data/checkout.ts'
import { createRunDir } from '../data/databases.ts'
import { pinned } from '../host/cores.ts'
import { cleanEnv, type Env, runProgram, type Server, trackChild } from '../host/processes.ts'
import { benchDir } from '../host/programs.ts'
import { cpuSeconds, otherCpuShareMax, residentMb, watchOtherProcesses } from '../host/usage.ts'
import { type BenchContext, isSelected, type Measurement } from '../measure/context.ts'
import { failedResult, type Result } from '../measure/result.ts'
import { startDurablePostgres } from '../servers/postgres.ts'
import { requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { median, spreadOf } from '../statistics.ts'
import { type Row, rows } from '../targets.ts'

const streamCount = 1_000
const createsPerSecond = 200
/** Until the last events have been sent. */
const drainMs = 1_500
const warmUpSeconds = 4
const roundsMax = 7

type Keys = { readonly create: string; readonly stream: string }

export const eventStreams: Measurement = {
  rows: [rows.eventStreams, rows.eventStreamsPostgres],
  async run(context) {
    const onSqlite = measureStreams(context, rows.eventStreams, { PETSTORE_DATA_DIR: createRunDir() })
    const results = [await onSqlite.catch((error: unknown) => failedResult(rows.eventStreams, error))]
    if (!isSelected(context, rows.eventStreamsPostgres)) return results
    const postgres = await startDurablePostgres(context.cores)
    try {
      const env = { DATABASE_URL: postgres.adminUrl }
      const onPostgres = measureStreams(context, rows.eventStreamsPostgres, env)
      results.push(await onPostgres.catch((error: unknown) => failedResult(rows.eventStreamsPostgres, error)))
      return results
    } finally {
      await postgres.stop()
    }
  },
}

async function measureStreams(context: BenchContext, row: Row, env: Env): Promise<Result> {
  const { cores, options, checkout, progress } = context
  const keys = {
    create: await createKey(checkout, env),
    stream: await createKey(checkout, env, '--streams', String(streamCount), '--scope', 'events:read'),
  }
  const service = await startService(cores, checkout, {
    dataDir: env.PETSTORE_DATA_DIR ?? createRunDir(),
    env,
  })
  try {
    progress(`event streams: warming up, ${row.id}`)
    await createCpuMs(context, service, keys, warmUpSeconds)
    const seconds = options.isQuick ? 2 : 6
    const rounds = Math.min(options.rounds, options.isQuick ? 2 : roundsMax)
    const otherCpuShare = watchOtherProcesses(cores.server, [service.pid])
    const withoutMs: number[] = []
    const withMs: number[] = []
    const memoryMb: number[] = []
    for (let round = 0; round < rounds; round++) {
      const measure = () => createCpuMs(context, service, keys, seconds)
      const without = await measure()
      const before = residentMb(service.pid)
      const withStreams = await withOpenStreams(context, service, keys, () => {
        memoryMb.push(residentMb(service.pid) - before)
        return measure()
      })
      withoutMs.push(without)
      withMs.push(withStreams)
      const values = `${withStreams.toFixed(2)} ms with streams, ${without.toFixed(2)} ms without`
      progress(`event streams: round ${round + 1} of ${rounds}, ${row.id}: ${values}`)
    }
    return {
      row,
      measured: spreadOf(withMs.map((ms, round) => ms / (withoutMs[round] ?? Number.NaN))),
      isDisturbed: otherCpuShare() > otherCpuShareMax,
      detail: `${median(withMs).toFixed(2)} ms of CPU time per create; against ${median(withoutMs).toFixed(2)} ms. ${streamCount} streams use ${memoryMb[0]?.toFixed(0)} MB when they are first opened`,
    }
  } finally {
    await service.stop()
  }
}

/** Creates pets at a fixed rate. Returns the CPU time of the service per create. */
async function createCpuMs(
  { cores }: BenchContext,
  service: Server,
  keys: Keys,
  seconds: number,
): Promise<number> {
  const { create } = requestsWith(keys.create)
  const command = [process.execPath, join(benchDir, 'load', 'fixedRateWriters.ts')]
  const before = cpuSeconds(service.pid)
  const output = await runProgram(pinned(cores, cores.load, command), {
    BENCH_PORT: String(service.port),
    BENCH_PATH: create.path,
    BENCH_AUTHORIZATION: create.headers.Authorization ?? '',
    BENCH_BODY: create.body ?? '',
    BENCH_PER_SECOND: String(createsPerSecond),
    BENCH_SECONDS: String(seconds),
  })
  await sleep(drainMs)
  return ((cpuSeconds(service.pid) - before) * 1000) / JSON.parse(output).responses
}

/** Rejects if a stream did not receive the last event. */
async function withOpenStreams<T>(
  { cores }: BenchContext,
  service: Server,
  keys: Keys,
  measure: () => Promise<T>,
): Promise<T> {
  const command = [process.execPath, join(benchDir, 'load', 'eventStreams.ts')]
  const [program = '', ...args] = pinned(cores, cores.load, command)
  const child = spawn(program, args, {
    env: cleanEnv({
      BENCH_PORT: String(service.port),
      BENCH_AUTHORIZATION: `Bearer ${keys.stream}`,
      BENCH_STREAMS: String(streamCount),
    }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  trackChild(child)
  const exited = once(child, 'exit')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  if ((await lines.next()).done) throw new Error('The event streams could not be opened.')
  const measured = await measure()
  child.kill('SIGTERM')
  const { value } = await lines.next()
  await exited
  const report = JSON.parse(value ?? '{}')
  if (report.streams !== streamCount || report.lastIds?.length !== 1)
    throw new Error(`Not every stream received every event: ${value}`)
  return measured
}
