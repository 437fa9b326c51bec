import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { type Cores, findProgram, pinned } from './machine.ts'
import { UsageError } from './options.ts'
import { adopt, environment, here } from './processes.ts'

/** What every caller of a load sends. `{id}` in the path becomes one of `ids` ids, at random with a fixed seed. */
export type Request = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly ids?: number
  readonly status: number
}

type LoadResult = {
  readonly requests: number
  readonly seconds: number
  readonly bytes: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuSeconds: number
}

type LoadPlan = {
  readonly port: number
  readonly request: Request
  readonly connections: number
  readonly seconds: number
  /** What only warms up may be too short for an answer on a busy machine. */
  readonly isWarmUp?: boolean
  /** A load in the background gives way to the one that is measured. */
  readonly isBackground?: boolean
}

type RunningLoad = {
  /** It is at work, and can be stopped. */
  readonly ready: Promise<void>
  readonly result: Promise<LoadResult>
  stop(): Promise<LoadResult>
}

export type Load = {
  readonly name: string
  start(plan: LoadPlan): RunningLoad
  run(plan: LoadPlan): Promise<LoadResult>
}

const seed = 20_261_115
const timeoutSeconds = 60

export function chooseLoad(wanted: 'wrk' | 'autocannon' | undefined, cores: Cores): Load {
  const wrk = findProgram('wrk')
  if (wanted === 'wrk' && wrk === undefined) throw new UsageError('--load wrk: wrk is not installed.')
  const isWrk = wrk !== undefined && wanted !== 'autocannon'
  const start = (plan: LoadPlan) => startLoad(cores, plan, isWrk)
  return {
    name: isWrk ? wrkVersion() : autocannonVersion(),
    start,
    run: (plan) => start(plan).result,
  }
}

const driverCommand = [process.execPath, join(here, 'load', 'autocannon.ts')]

function wrkCommand(cores: Cores, { port, connections, seconds }: LoadPlan): string[] {
  const threads = Math.min(cores.loadCount, connections)
  // wrk takes whole seconds; a shorter load is stopped from here.
  const duration = `${Math.ceil(seconds)}s`
  return [
    'wrk',
    ...['--threads', String(threads), '--connections', String(connections), '--duration', duration],
    ...['--timeout', `${timeoutSeconds}s`, '--script', join(here, 'load', 'wrk.lua')],
    `http://127.0.0.1:${port}/`,
  ]
}

function startLoad(cores: Cores, plan: LoadPlan, isWrk: boolean): RunningLoad {
  const { port, request, connections, seconds } = plan
  const nice = plan.isBackground && findProgram('nice') ? ['nice', '-n', '10'] : []
  const [program = '', ...args] = pinned(cores, cores.load, [
    ...nice,
    ...(isWrk ? wrkCommand(cores, plan) : driverCommand),
  ])
  const child = spawn(program, args, {
    env: environment({
      BENCH_URL: `http://127.0.0.1:${port}`,
      BENCH_METHOD: request.method,
      BENCH_PATH: request.path,
      BENCH_HEADERS: Object.entries(request.headers)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n'),
      BENCH_IDS: String(request.ids ?? 0),
      BENCH_SEED: String(seed),
      BENCH_CONNECTIONS: String(connections),
      BENCH_SECONDS: String(seconds),
      ...(request.body !== undefined && { BENCH_BODY: request.body }),
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  adopt(child)
  const ended = once(child, 'exit')
  // The driver says on standard error that it has begun.
  const begun = isWrk ? untilCatching(child.pid ?? 0) : once(child.stderr, 'data')
  const ready = Promise.race([begun, ended]).then(() => {})
  const stop = () => ready.then(() => child.kill('SIGINT'))
  const mustBeStopped = isWrk && !Number.isInteger(seconds)
  const timer = mustBeStopped ? setTimeout(stop, seconds * 1000) : undefined
  const finish = async () => {
    const [output, complaints] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    clearTimeout(timer)
    const line = output.split('\n').findLast((candidate) => candidate.startsWith('{'))
    if (line === undefined) throw new Error(`The load failed.\n${output}\n${complaints}`)
    return checked(JSON.parse(line), plan)
  }
  const result = finish()
  result.catch(() => {})
  return {
    ready,
    result,
    async stop() {
      await stop()
      return result
    },
  }
}

const interrupt = 1n << 1n
const catchingRetryMs = 5
const catchingTriesMax = 2_000

/** On a busy machine a program may not be ready yet to be interrupted, and would end without a word. */
async function untilCatching(pid: number): Promise<void> {
  for (let tries = 0; tries < catchingTriesMax; tries++) {
    try {
      const caught = /^SigCgt:\s*([0-9a-f]+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      if (caught === undefined || (BigInt(`0x${caught}`) & interrupt) !== 0n) return
    } catch {
      // There is no /proc, or the program has ended.
      return
    }
    await pause(catchingRetryMs)
  }
}

/** A round in which anything went wrong is no figure. */
function checked(
  found: LoadResult & { badAnswers: number; failures: number },
  { request, isWarmUp }: LoadPlan,
): LoadResult {
  const { badAnswers, failures, requests } = found
  if (badAnswers > 0 || failures > 0) {
    throw new Error(
      `${request.method} ${request.path}: of ${requests} answers ${badAnswers} were not 2xx, and ${failures} requests failed.`,
    )
  }
  if (requests === 0 && !isWarmUp) throw new Error(`${request.method} ${request.path}: not one answer came.`)
  return found
}

function wrkVersion(): string {
  // It prints its version, then how to use it, and exits with 1.
  try {
    execFileSync('wrk', ['--version'], { stdio: 'pipe' })
  } catch (error) {
    const output = String((error as { stdout?: Buffer }).stdout)
    return /wrk \S+/.exec(output)?.[0] ?? 'wrk'
  }
  return 'wrk'
}

function autocannonVersion(): string {
  const file = createRequire(import.meta.url).resolve('autocannon/package.json')
  return `autocannon ${JSON.parse(readFileSync(file, 'utf8')).version}`
}
