import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { pinned } from '../../bench/host/cores.ts'
import { cleanEnv, trackChild } from '../../bench/host/processes.ts'
import { median } from '../../bench/statistics.ts'
import { type Engine, mixedRequests, runArrivals, startTarget, type Target } from '../load/target.ts'
import type { Check, RunOptions, Verdict } from '../verdict.ts'
import { type ClosedReport, type KindPlan, kindPlans, lateMaxMs } from './kinds.ts'

const callsPerSecond = 100
const p99FactorMax = 2
/** Below this, the p99 is that of the timers and the scheduler of the machine. */
const p99FloorMs = 10
const settleMs = 1_000

export const slowCallers: Check = {
  name: 'slowCallers',
  isMeasurement: true,
  async run(options) {
    const [engine = 'sqlite'] = options.engines
    const target = await startTarget(engine)
    try {
      // The first responses are slow, because the code is not compiled yet.
      await normalP99(target, 2)
      const verdicts: Verdict[] = []
      for (const plan of kindPlans) verdicts.push(await runKind(target, engine, plan, options))
      return verdicts
    } finally {
      await target.stop()
    }
  },
}

type Latency = {
  readonly p99Ms: number
  readonly served: number
  readonly others: Readonly<Record<string, number>>
}

/** The 99th percentile of a caller that reads an animal a hundred times a second. */
async function normalP99(target: Target, seconds: number): Promise<Latency> {
  const kinds = mixedRequests(target.animals).filter(({ path }) => path === '/v1/pets/{id}')
  const group = {
    name: 'normal',
    addresses: ['127.0.0.1'],
    keys: [target.keys[1]],
    perSecond: callsPerSecond,
  }
  const [report] = await runArrivals(target, { seconds, groups: [{ ...group, kinds }] })
  const { '200': served = 0, ...others } = report?.statuses ?? {}
  return { p99Ms: report?.goodP99Ms ?? Number.NaN, served, others }
}

async function runKind(
  target: Target,
  engine: Engine,
  plan: KindPlan,
  { isQuick, log }: RunOptions,
): Promise<Verdict> {
  const seconds = isQuick ? 1 : 4
  const rounds = isQuick ? 2 : 3
  // A quick run does not wait for the long bounds.
  const isCutOffAwaited = plan.boundMs !== undefined && (!isQuick || plan.boundMs <= 10_000)
  const calm: Latency[] = []
  const loaded: Latency[] = []
  for (let round = 0; round < rounds; round++) calm.push(await normalP99(target, seconds))
  const callers = await startCallers(target, plan)
  for (let round = 0; round < rounds; round++) loaded.push(await normalP99(target, seconds))
  if (isCutOffAwaited) await callers.waitUntil((plan.boundMs ?? 0) + lateMaxMs)
  const report = await callers.stop()
  // The service closes thousands of connections.
  await pause(settleMs)
  const verdict = verdictOf(engine, plan, calm, loaded, report, isCutOffAwaited)
  log(`slowCallers, ${plan.description}: ${verdict.figures}`)
  return verdict
}

function verdictOf(
  engine: Engine,
  plan: KindPlan,
  calm: readonly Latency[],
  loaded: readonly Latency[],
  { opened, closedMs, responses }: ClosedReport,
  isCutOffAwaited: boolean,
): Verdict {
  const boundMs = plan.boundMs ?? 0
  const [calmMs, loadedMs] = [calm, loaded].map((rounds) => median(rounds.map(({ p99Ms }) => p99Ms))) as [
    number,
    number,
  ]
  const failed = loaded.map(({ others }) => others).filter((others) => Object.keys(others).length > 0)
  const inTime = closedMs.filter((ms) => ms <= boundMs + lateMaxMs).length
  const isQuickEnough = loadedMs <= Math.max(p99FactorMax * calmMs, p99FloorMs)
  const longest = closedMs.length > 0 ? Math.max(...closedMs) / 1000 : 0
  const cutOff = isCutOffAwaited
    ? `${inTime} closed within ${boundMs / 1000} s and a check interval, the last after ${longest.toFixed(1)} s`
    : plan.boundMs === undefined
      ? `${responses} responses: a connection is served in turn with the others`
      : `${closedMs.length} closed so far; the bound of ${boundMs / 1000} s is not awaited in a quick run`
  const isHeld =
    isQuickEnough && failed.length === 0 && opened === plan.count && (!isCutOffAwaited || inTime === opened)
  return {
    promise: `${plan.description}: other callers are served as usual (${engine})`,
    method: `${plan.count} connections; p99 of a caller that reads ${callsPerSecond} times a second, median of rounds; at most ${p99FactorMax} times the p99 without these connections, or ${p99FloorMs} ms`,
    figures: `${opened} opened; ${cutOff}; p99 ${loadedMs.toFixed(1)} ms, without ${calmMs.toFixed(1)} ms${failed.length > 0 ? `; not served: ${JSON.stringify(failed)}` : ''}`,
    isHeld,
    ...(!isHeld && { explanation: isQuickEnough ? notServed : (plan.explanation ?? busyMachine) }),
  }
}

const notServed =
  'Connections were not opened or not closed in time, or requests of the measured caller were not served: see the figures.'

const busyMachine =
  'Other work on the machine delays the measured caller too. Repeat the check on a machine without other work.'

async function startCallers(target: Target, { kind, count }: KindPlan) {
  const { cores, server, keys } = target
  const file = fileURLToPath(new URL('callers.ts', import.meta.url))
  const [program = '', ...args] = pinned(cores, cores.load, ['nice', '-n', '10', process.execPath, file])
  const env = cleanEnv({
    RELIABILITY_KIND: kind,
    RELIABILITY_COUNT: String(count),
    RELIABILITY_PORT: String(server.port),
    RELIABILITY_KEY: keys[0],
  })
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  trackChild(child)
  const lines = createInterface(child.stdout)
  await once(lines, 'line')
  const openedAt = performance.now()
  return {
    waitUntil: (ms: number) => pause(Math.max(0, ms - (performance.now() - openedAt))),
    async stop(): Promise<ClosedReport> {
      const printed = once(lines, 'line')
      child.kill('SIGTERM')
      const [line] = (await printed) as [string]
      return JSON.parse(line)
    },
  }
}
