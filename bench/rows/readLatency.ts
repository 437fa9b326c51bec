/** Rows 5 and 6: the latency of lists while other callers create pets, upload photos or import a file. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKey } from '../data/checkout.ts'
import { copyDir, readKey, seededDatabase } from '../data/databases.ts'
import { makePhoto } from '../data/photos.ts'
import { pinned } from '../host/cores.ts'
import { runProgram, type Server, stopAll } from '../host/processes.ts'
import { benchDir } from '../host/programs.ts'
import { otherCpuShareMax, watchOtherProcesses } from '../host/usage.ts'
import type { LatencyReport } from '../load/latencyReport.ts'
import { type BenchContext, isSelected, type Measurement } from '../measure/context.ts'
import { failedResult, type Result } from '../measure/result.ts'
import { recordResponse } from '../servers/recordedResponse.ts'
import { requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { slowFsyncEnv } from '../servers/slowFsync.ts'
import { median, spreadOf } from '../statistics.ts'
import { type Row, rows } from '../targets.ts'
import { duringImport } from './duringImport.ts'

const writerCount = 64
const readerCount = 64
const uploaderCount = 50
const retryMs = 1_000
/** Until the writers have reached their full rate. */
const writerLeadMs = 300
const writerSecondsMax = 600
const fsyncDelayMs = 5

type Requests = ReturnType<typeof requestsWith>
type ReaderProgram = 'closedLoopReaders.ts' | 'fixedRateReaders.ts'
type Latencies = LatencyReport & { readonly createsPerSecond: number }
type Scenario = { readonly name: string; readonly samples: Latencies[]; run(): Promise<Latencies> }

export const readLatency: Measurement = {
  rows: [
    rows.listDuringCreates,
    rows.listDuringCreatesFixedRate,
    rows.listDuringUploads,
    rows.listDuringImport,
    rows.listOnSlowDisk,
  ],
  async run(context) {
    const { cores, checkout } = context
    const dataDir = copyDir(await seededDatabase(checkout))
    const requests = requestsWith(readKey(dataDir))
    const managerKey = await createKey(checkout, { PETSTORE_DATA_DIR: dataDir }, '--scope', 'keys:manage')
    const servers: Server[] = []
    const failures: Result[] = []
    try {
      const service = await startService(cores, checkout, { dataDir })
      servers.push(service)
      let slow: Server | undefined
      if (isSelected(context, rows.listOnSlowDisk)) {
        try {
          const env = slowFsyncEnv(fsyncDelayMs)
          slow = await startService(cores, checkout, { name: 'petstore with slow fsync', env })
          servers.push(slow)
          await checkSlowFsync(slow, requests)
        } catch (error) {
          failures.push(failedResult(rows.listOnSlowDisk, error))
          slow = undefined
        }
      }
      if (!slow && !isSelected(context, rows.listDuringCreates)) return failures
      return [...failures, ...(await measureScenarios(context, { service, slow, requests, managerKey }))]
    } finally {
      await stopAll(servers)
    }
  },
}

type Measured = {
  readonly service: Server
  readonly slow: Server | undefined
  readonly requests: Requests
  readonly managerKey: string
}

async function measureScenarios(
  context: BenchContext,
  { service, slow, requests, managerKey }: Measured,
): Promise<Result[]> {
  const { options, cores, progress } = context
  const scenario = (
    name: string,
    program: ReaderProgram,
    during?: (measure: () => Promise<Latencies>) => Promise<Latencies>,
    server = service,
  ): Scenario => {
    const measure = () => readList(context, server, requests, program)
    return { name, samples: [], run: () => during?.(measure) ?? measure() }
  }
  const createsOn = (server: Server) => (measure: () => Promise<Latencies>) =>
    duringCreates(context, server, requests, measure)
  const creates = createsOn(service)
  const photo = await makePhoto()
  const uploads = (measure: () => Promise<Latencies>) => duringUploads(service, requests, photo, measure)
  const alone = scenario('closed loop', 'closedLoopReaders.ts')
  const busy = scenario('closed loop during creates', 'closedLoopReaders.ts', creates)
  const uploading = scenario('closed loop during uploads', 'closedLoopReaders.ts', uploads)
  const importing = scenario('closed loop during an import', 'closedLoopReaders.ts', (measure) =>
    duringImport(service, managerKey, measure),
  )
  const aloneFixed = scenario('fixed rate', 'fixedRateReaders.ts')
  const busyFixed = scenario('fixed rate during creates', 'fixedRateReaders.ts', creates)
  const busySlow =
    slow && scenario('closed loop during creates, slow fsync', 'closedLoopReaders.ts', createsOn(slow), slow)
  const scenarios = [
    ...(isSelected(context, rows.listDuringCreates)
      ? [alone, aloneFixed, busyFixed, uploading, importing]
      : []),
    busy,
    ...(busySlow ? [busySlow] : []),
  ]
  for (const { name, run } of [busy, busySlow].filter((one) => one !== undefined)) {
    progress(`latency: warming up, ${name}`)
    await run()
  }
  const pids = [service, slow].flatMap((server) => (server ? [server.pid] : []))
  const otherCpuShare = watchOtherProcesses(cores.server, pids)
  for (let round = 0; round < options.rounds; round++) {
    for (const { name, samples, run } of round % 2 === 0 ? scenarios : scenarios.toReversed()) {
      const latencies = await run()
      samples.push(latencies)
      const p99 = latencies.p99Ms.toFixed(2)
      progress(`latency: round ${round + 1} of ${options.rounds}, ${name}: p99 ${p99} ms`)
    }
  }
  const isDisturbed = otherCpuShare() > otherCpuShareMax
  const result = (row: Row, { samples }: Scenario, { samples: base }: Scenario): Result => ({
    row,
    measured: spreadOf(samples.map(({ p99Ms }, index) => p99Ms / (base[index]?.p99Ms ?? Number.NaN))),
    isDisturbed,
    detail: `${describe(samples, options.seconds)}; against ${describe(base, options.seconds)}`,
  })
  return [
    ...(alone.samples.length > 0
      ? [
          result(rows.listDuringCreates, busy, alone),
          result(rows.listDuringCreatesFixedRate, busyFixed, aloneFixed),
          result(rows.listDuringUploads, uploading, alone),
          result(rows.listDuringImport, importing, alone),
        ]
      : []),
    ...(busySlow ? [result(rows.listOnSlowDisk, busySlow, busy)] : []),
  ]
}

function describe(samples: readonly Latencies[], seconds: number): string {
  const middle = (pick: (latencies: Latencies) => number) => median(samples.map(pick))
  const integer = (value: number) => Math.round(value).toLocaleString('en')
  const p99 = middle(({ p99Ms }) => p99Ms).toFixed(2)
  const p50 = middle(({ p50Ms }) => p50Ms).toFixed(2)
  const lists = integer(middle(({ requests }) => requests / seconds))
  const creates = integer(middle(({ createsPerSecond }) => createsPerSecond))
  return `p99 ${p99} ms, p50 ${p50} ms, ${lists} lists/s, ${creates} creates/s`
}

/** The writers run at a lower priority than the readers on the load generator's core. */
async function duringCreates(
  { load }: BenchContext,
  server: Server,
  { create }: Requests,
  measure: () => Promise<Latencies>,
): Promise<Latencies> {
  const writers = load.start({
    port: server.port,
    request: create,
    connections: writerCount,
    seconds: writerSecondsMax,
    isBackground: true,
  })
  try {
    await writers.ready
    await sleep(writerLeadMs)
    const latencies = await measure()
    const { requests, seconds } = await writers.stop()
    return { ...latencies, createsPerSecond: requests / seconds }
  } finally {
    await writers.stop().catch(() => {})
  }
}

/** Several callers upload one photo after another. One that gets 503 tries again after a second. */
async function duringUploads(
  { port }: Server,
  { list }: Requests,
  photo: Buffer,
  measure: () => Promise<Latencies>,
): Promise<Latencies> {
  let isRunning = true
  const upload = async (caller: number) => {
    for (let count = 0; isRunning; count++) {
      const petId = 1 + caller + uploaderCount * count
      const response = await fetch(`http://127.0.0.1:${port}/v1/pets/${petId}/photos`, {
        method: 'POST',
        headers: { ...list.headers, 'Content-Type': 'image/jpeg' },
        body: new Uint8Array(photo),
      })
      if (response.status === 503) await sleep(retryMs)
      else if (response.status !== 201) throw new Error(`An upload returned ${response.status}.`)
    }
  }
  const uploaders = Promise.all(Array.from({ length: uploaderCount }, (_, caller) => upload(caller)))
  await sleep(writerLeadMs)
  const latencies = await measure()
  isRunning = false
  await uploaders
  return latencies
}

async function readList(
  { cores, options }: BenchContext,
  server: Server,
  { list }: Requests,
  program: ReaderProgram,
): Promise<Latencies> {
  const command = [process.execPath, join(benchDir, 'load', program)]
  const output = await runProgram(pinned(cores, cores.load, command), {
    BENCH_CONNECTIONS: String(readerCount),
    BENCH_PORT: String(server.port),
    BENCH_PATH: list.path,
    BENCH_AUTHORIZATION: list.headers.Authorization ?? '',
    BENCH_SECONDS: String(options.seconds),
  })
  return { ...JSON.parse(output), createsPerSecond: 0 }
}

/** A single create waits for at least one fsync. */
async function checkSlowFsync(server: Server, { create }: Requests): Promise<void> {
  await recordResponse(server.name, server.port, create)
  const startedAt = performance.now()
  await recordResponse(server.name, server.port, create)
  const tookMs = performance.now() - startedAt
  if (tookMs < fsyncDelayMs)
    throw new Error(`The fault injection had no effect: a create took ${tookMs.toFixed(1)} ms.`)
}
