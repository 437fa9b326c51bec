/** Rows 5 and 6: what happens to those who read while others write. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { askWell } from '../answers.ts'
import type { Bench } from '../bench.ts'
import { type Figure, notRun, type Row, rows } from '../figures.ts'
import type { Request } from '../load.ts'
import { findProgram, othersMax, pinned, watchOthers } from '../machine.ts'
import { here, runProgram, type Server } from '../processes.ts'
import { requestsWith } from '../requests.ts'
import { startService } from '../servers.ts'
import { median, spreadOf } from '../statistics.ts'
import { keyIn, newFolder, petstoreStore } from '../stores.ts'

const writers = 64
const readers = 64
/** Long enough for the writers to be at full speed. */
const leadMs = 300
const longSeconds = 600
const fsyncMs = 5

type Requests = Record<'list' | 'create', Request>
type Times = {
  readonly requests: number
  readonly p99Ms: number
  readonly p50Ms: number
  readonly creates: number
}

export async function latency(bench: Bench): Promise<Figure[]> {
  const { options, cores } = bench
  const requests = requestsWith(keyIn(await petstoreStore()))
  const figures: Figure[] = []
  const servers: Server[] = []
  const add = async (name: string, env: Record<string, string> = {}) => {
    const server = await startService(cores, { name, env })
    servers.push(server)
    return server
  }
  try {
    const service = await add('petstore')
    let slow: Server | undefined
    if (options.rows.has(6)) {
      try {
        slow = await add('petstore on a slow disk', slowFsync())
        await mustBeSlow(slow, requests.create)
      } catch (error) {
        figures.push(notRun(rows.slowDisk, error))
        slow = undefined
      }
    }
    figures.push(...(await play(bench, service, slow, requests)))
    return figures
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

type Way = { readonly name: string; readonly times: Times[]; run(): Promise<Times> }

async function play(
  bench: Bench,
  service: Server,
  slow: Server | undefined,
  requests: Requests,
): Promise<Figure[]> {
  const { options, progress } = bench
  const way = (name: string, run: () => Promise<Times>): Way => ({ name, times: [], run })
  const calm = way('calm', () => probe(bench, service, requests))
  const busy = way('while 64 create', () => whileWriting(bench, service, requests, calm.run))
  const full = way('full speed', () => fullSpeed(bench, service, requests))
  const fullBusy = way('full speed while 64 create', () => whileWriting(bench, service, requests, full.run))
  const slowBusy =
    slow &&
    way('slow disk, full speed while 64 create', () =>
      whileWriting(bench, slow, requests, () => fullSpeed(bench, slow, requests)),
    )
  const isRow5 = options.rows.has(5)
  const ways = [
    ...(isRow5 ? [full, calm, busy] : []),
    ...(isRow5 || slowBusy ? [fullBusy] : []),
    ...(slowBusy ? [slowBusy] : []),
  ]
  for (const { name, run } of ways.length === 0
    ? []
    : [fullBusy, slowBusy].filter((one) => one !== undefined)) {
    progress(`latency: warming up, ${name}`)
    await run()
  }
  const others = watchOthers(
    bench.cores.server,
    [service, slow].flatMap((server) => (server ? [server.pid] : [])),
  )
  for (let round = 0; round < options.rounds; round++) {
    for (const { name, times, run } of round % 2 === 0 ? ways : ways.toReversed()) {
      const found = await run()
      times.push(found)
      progress(`latency: round ${round + 1} of ${options.rounds}, ${name}: p99 ${found.p99Ms.toFixed(2)} ms`)
    }
  }
  const isDisturbed = others() > othersMax
  const figure = (row: Row, { times: ours }: Way, { times: base }: Way): Figure => ({
    row,
    found: spreadOf(ours.map(({ p99Ms }, index) => p99Ms / (base[index]?.p99Ms ?? Number.NaN))),
    isDisturbed,
    detail: `${shown(ours, options.seconds)}; against ${shown(base, options.seconds)}`,
  })
  return [
    ...(isRow5 ? [figure(rows.calmFull, fullBusy, full)] : []),
    ...(isRow5 ? [figure(rows.calm, busy, calm)] : []),
    ...(slowBusy ? [figure(rows.slowDisk, slowBusy, fullBusy)] : []),
  ]
}

function shown(times: readonly Times[], seconds: number): string {
  const middle = (pick: (found: Times) => number) => median(times.map(pick))
  const whole = (value: number) => Math.round(value).toLocaleString('en')
  const p99 = middle(({ p99Ms }) => p99Ms).toFixed(2)
  const p50 = middle(({ p50Ms }) => p50Ms).toFixed(2)
  const lists = whole(middle(({ requests }) => requests / seconds))
  return `p99 ${p99} ms, p50 ${p50} ms, ${lists} lists/s, ${whole(middle(({ creates }) => creates))} creates/s`
}

/** The writers are in the background: on the load's core they give way to whoever measures. */
async function whileWriting(
  { load }: Bench,
  server: Server,
  { create }: Requests,
  measure: () => Promise<Times>,
): Promise<Times> {
  const background = load.start({
    port: server.port,
    request: create,
    connections: writers,
    seconds: longSeconds,
    isBackground: true,
  })
  try {
    await background.ready
    await pause(leadMs)
    const times = await measure()
    const { requests, seconds } = await background.stop()
    return { ...times, creates: requests / seconds }
  } finally {
    await background.stop().catch(() => {})
  }
}

/** Readers at a modest, fixed rate: their p99 is the time of an answer, not the length of a queue of their own. */
const probe = (bench: Bench, server: Server, requests: Requests) => read(bench, server, requests, 'probe.ts')

/** As many readers as in row 1, each asking again as soon as it is answered. */
const fullSpeed = (bench: Bench, server: Server, requests: Requests) =>
  read(bench, server, requests, 'readers.ts')

async function read(
  { cores, options }: Bench,
  server: Server,
  { list }: Requests,
  program: string,
): Promise<Times> {
  const command = [process.execPath, join(here, 'load', program)]
  const printed = await runProgram(pinned(cores, cores.load, command), {
    BENCH_CONNECTIONS: String(readers),
    BENCH_PORT: String(server.port),
    BENCH_PATH: list.path,
    BENCH_AUTHORIZATION: list.headers.Authorization ?? '',
    BENCH_SECONDS: String(options.seconds),
  })
  return { ...JSON.parse(printed), creates: 0 }
}

/** Compiles what slows every fsync, and has it loaded before the C library. */
function slowFsync(): Record<string, string> {
  const compiler = ['cc', 'gcc', 'clang'].find((name) => findProgram(name) !== undefined)
  if (process.platform !== 'linux') throw new Error('Slowing fsync works on Linux only.')
  if (compiler === undefined) throw new Error('There is no C compiler (cc, gcc or clang) to slow fsync with.')
  const library = join(newFolder(), 'slowFsync.so')
  execFileSync(compiler, ['-shared', '-fPIC', '-O2', '-o', library, join(here, 'slowFsync.c'), '-ldl'])
  return { LD_PRELOAD: library, BENCH_FSYNC_MS: String(fsyncMs) }
}

/** One create alone waits for one fsync: where it does not take that long, nothing was slowed. */
async function mustBeSlow(server: Server, create: Request): Promise<void> {
  await askWell(server.name, server.port, create)
  const started = performance.now()
  await askWell(server.name, server.port, create)
  const tookMs = performance.now() - started
  if (tookMs < fsyncMs) {
    throw new Error(`The fault injection had no effect: a create took ${tookMs.toFixed(1)} ms.`)
  }
}
