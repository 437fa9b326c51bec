import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cores, pinned } from '../host/cores.ts'
import { cleanEnv, trackChild } from '../host/processes.ts'
import { benchDir, findProgram, packageVersion } from '../host/programs.ts'

/**
 * A request that a load repeats. `{id}` in the path or in a header is replaced by a random id from 1 to `ids`, with a fixed seed.
 * `{sequence}` in the body is replaced by a number that no other request has. The ids are then in sequence, so that
 * requests at the same time have different ids.
 */
export type RequestSpec = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly ids?: number
  /** The status of a successful response. */
  readonly status: number
}

type LoadResult = {
  readonly requests: number
  readonly seconds: number
  readonly bytes: number
  readonly cpuSeconds: number
}

type LoadPlan = {
  readonly port: number
  readonly request: RequestSpec
  readonly connections: number
  readonly seconds: number
  /** A warm-up may be too short for a single response on a busy machine. */
  readonly isWarmUp?: boolean
  /** Runs at a lower priority than the load that is measured. */
  readonly isBackground?: boolean
}

type RunningLoad = {
  /** Resolves when the load runs and can be stopped. */
  readonly ready: Promise<void>
  readonly result: Promise<LoadResult>
  stop(): Promise<LoadResult>
}

export type LoadName = 'wrk' | 'autocannon'

export type LoadGenerator = {
  readonly name: string
  start(plan: LoadPlan): RunningLoad
  run(plan: LoadPlan): Promise<LoadResult>
}

const seed = 20_261_115
/** The sequences of loads that run at the same time are about a third of the ids apart. */
const sequencePerLoad = 1_033_333
let loadsStarted = 0
const timeoutSeconds = 60

export function createLoadGenerator(name: LoadName, cores: Cores): LoadGenerator {
  const start = (plan: LoadPlan) => startLoad(cores, plan, name)
  return {
    name: name === 'wrk' ? wrkVersion() : `autocannon ${packageVersion('autocannon')}`,
    start,
    run: (plan) => start(plan).result,
  }
}

const threadCount = (cores: Cores, { connections }: LoadPlan) => Math.min(cores.loadCount, connections)

const autocannonCommand = [process.execPath, join(benchDir, 'load', 'autocannon.ts')]

function wrkCommand(cores: Cores, plan: LoadPlan): string[] {
  const { port, connections, seconds } = plan
  const threads = threadCount(cores, plan)
  // wrk accepts whole seconds only. startLoad interrupts it earlier if needed.
  const duration = `${Math.ceil(seconds)}s`
  return [
    'wrk',
    ...['--threads', String(threads), '--connections', String(connections), '--duration', duration],
    ...['--timeout', `${timeoutSeconds}s`, '--script', join(benchDir, 'load', 'wrk.lua')],
    `http://127.0.0.1:${port}/`,
  ]
}

function startLoad(cores: Cores, plan: LoadPlan, name: LoadName): RunningLoad {
  const { seconds } = plan
  const nice = plan.isBackground && findProgram('nice') ? ['nice', '-n', '10'] : []
  const command = name === 'wrk' ? wrkCommand(cores, plan) : autocannonCommand
  const [program = '', ...args] = pinned(cores, cores.load, [...nice, ...command])
  const env = cleanEnv({ ...envOf(plan), BENCH_THREADS: String(threadCount(cores, plan)) })
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  trackChild(child)
  const exited = once(child, 'exit')
  // The autocannon program writes a line to standard error when it has started.
  const started = name === 'wrk' ? waitUntilInterruptible(child.pid ?? 0) : once(child.stderr, 'data')
  const ready = Promise.race([started, exited]).then(() => {})
  const interrupt = () => ready.then(() => child.kill('SIGINT'))
  const timer =
    name === 'wrk' && !Number.isInteger(seconds) ? setTimeout(interrupt, seconds * 1000) : undefined
  const readResult = async () => {
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), exited])
    clearTimeout(timer)
    const line = output.split('\n').findLast((candidate) => candidate.startsWith('{'))
    if (line === undefined) throw new Error(`The load generator failed.\n${output}\n${errors}`)
    return checkResult(JSON.parse(line), plan)
  }
  const result = readResult()
  result.catch(() => {})
  return {
    ready,
    result,
    async stop() {
      await interrupt()
      return result
    },
  }
}

const envOf = ({ port, request, connections, seconds }: LoadPlan) => ({
  BENCH_URL: `http://127.0.0.1:${port}`,
  BENCH_METHOD: request.method,
  BENCH_PATH: request.path,
  BENCH_HEADERS: Object.entries(request.headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n'),
  BENCH_IDS: String(request.ids ?? 0),
  BENCH_SEED: String(seed),
  BENCH_SEQUENCE: String(loadsStarted++ * sequencePerLoad),
  BENCH_CONNECTIONS: String(connections),
  BENCH_SECONDS: String(seconds),
  ...(request.body !== undefined && { BENCH_BODY: request.body }),
})

const sigintMask = 1n << 1n
const retryDelayMs = 5
const retriesMax = 2_000

/** wrk prints no result if SIGINT arrives before its signal handler is installed. */
async function waitUntilInterruptible(pid: number): Promise<void> {
  for (let attempt = 0; attempt < retriesMax; attempt++) {
    try {
      const caught = /^SigCgt:\s*([0-9a-f]+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      if (caught === undefined || (BigInt(`0x${caught}`) & sigintMask) !== 0n) return
    } catch {
      // There is no /proc, or the process has exited.
      return
    }
    await sleep(retryDelayMs)
  }
}

/** Rejects a round with any failed request. */
function checkResult(
  result: LoadResult & { non2xx: number; errors: number },
  { request, isWarmUp }: LoadPlan,
): LoadResult {
  const { non2xx, errors, requests } = result
  const target = `${request.method} ${request.path}`
  if (non2xx > 0 || errors > 0)
    throw new Error(`${target}: ${non2xx} of ${requests} responses were not 2xx, ${errors} requests failed.`)
  if (requests === 0 && !isWarmUp) throw new Error(`${target}: no response.`)
  return result
}

function wrkVersion(): string {
  // `wrk --version` prints the version and the usage, and exits with status 1.
  try {
    execFileSync('wrk', ['--version'], { stdio: 'pipe' })
  } catch (error) {
    const output = String((error as { stdout?: Buffer }).stdout)
    return /wrk \S+/.exec(output)?.[0] ?? 'wrk'
  }
  return 'wrk'
}
