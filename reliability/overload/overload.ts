import { setTimeout as pause } from 'node:timers/promises'
import { sendOnce, serializeRequest } from '../../bench/load/client.ts'
import { median } from '../../bench/statistics.ts'
import type { CallerGroup, GroupReport } from '../load/plan.ts'
import { type Engine, mixedRequests, runArrivals, startTarget, type Target } from '../load/target.ts'
import type { Check, RunOptions, Verdict } from '../verdict.ts'

const factors = [0.5, 1, 2, 4]
const goodputMin = 0.8
const recoveryMaxMs = 2_000
/** A caller below its share is served, apart from the first second of an overload. */
const calmGoodMin = 0.9
const calmFactor = 0.1
const roundsOfFactors = 3
const secondsOfRound = 7
const capacityRounds = 3
const capacitySeconds = 3
const callersOfCapacity = 64
const probeMs = 100
/** A probe of an orchestrator gives up after about this time. */
const probeMaxMs = 1_000

export const overload: Check = {
  name: 'overload',
  isMeasurement: true,
  async run(options) {
    // PostgreSQL shares the core of the load, so a short run says little there.
    const engines = options.isQuick ? options.engines.slice(0, 1) : options.engines
    const verdicts: Verdict[] = []
    for (const engine of engines) verdicts.push(...(await runOn(engine, options)))
    return verdicts
  },
}

async function runOn(engine: Engine, options: RunOptions): Promise<Verdict[]> {
  const { isQuick, log } = options
  const target = await startTarget(engine)
  try {
    const capacity = await measureCapacity(target, isQuick ? 1 : capacityRounds)
    log(`overload, ${engine}: capacity ${capacity.toFixed(0)} requests/s`)
    const probes = watchProbes(target)
    const reports = await measureFactors(target, engine, capacity, options)
    const recoveryMs = await measureRecovery(target)
    const shares = await measureShares(target, peakOf(capacity, reports), isQuick ? 3 : 20)
    for (const [name, share] of Object.entries(shares)) log(`overload, ${engine}: ${name}: ${percent(share)}`)
    return [
      goodputVerdict(engine, capacity, reports),
      recoveryVerdict(engine, recoveryMs),
      probeVerdict(engine, await probes.stop()),
      shareVerdict(engine, shares),
    ]
  } finally {
    await target.stop()
  }
}

/** In rounds of all factors, because other processes of the machine can disturb some seconds. Returns the median of each. */
async function measureFactors(
  target: Target,
  engine: Engine,
  capacity: number,
  { isQuick, log }: RunOptions,
): Promise<GroupReport[]> {
  const reports: GroupReport[] = []
  const roundsByFactor = factors.map((): GroupReport[] => [])
  for (let round = 0; round < (isQuick ? 1 : roundsOfFactors); round++)
    for (const [index, factor] of factors.entries()) {
      const perSecond = factor * peakOf(capacity, reports)
      const [report] = await arrive(target, isQuick ? 3 : secondsOfRound, [groupOf(target, { perSecond })])
      reports.push(report as GroupReport)
      roundsByFactor[index]?.push(report as GroupReport)
      log(`overload, ${engine}: ${factor} times: ${JSON.stringify(report?.statuses)}`)
    }
  return roundsByFactor.map(medianReport)
}

const medianReport = (reports: readonly GroupReport[]): GroupReport =>
  reports.toSorted((a, b) => a.goodPerSecond - b.goodPerSecond)[Math.floor(reports.length / 2)] as GroupReport

const groupOf = (target: Target, more: Partial<CallerGroup>): CallerGroup => ({
  name: 'callers',
  addresses: ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'],
  keys: [target.keys[0]],
  kinds: mixedRequests(target.animals),
  perSecond: 0,
  ...more,
})

const arrive = (target: Target, seconds: number, groups: readonly CallerGroup[]) =>
  runArrivals(target, { seconds, groups })

const peakOf = (capacity: number, reports: readonly GroupReport[]) =>
  Math.max(capacity, ...reports.map(({ goodPerSecond }) => goodPerSecond))

/** The first two rounds only warm up. */
async function measureCapacity(target: Target, rounds: number): Promise<number> {
  const rates: number[] = []
  for (let round = -2; round < rounds; round++) {
    const [report] = await arrive(target, capacitySeconds, [groupOf(target, { callers: callersOfCapacity })])
    if (round >= 0) rates.push(report?.goodPerSecond ?? 0)
  }
  return median(rates)
}

/** The time until a request is served, after a load has ended. */
async function measureRecovery({ server, keys }: Target): Promise<number> {
  const startedAt = performance.now()
  const request = serializeRequest('GET', '/v1/store/inventory', { Authorization: `Bearer ${keys[0]}` })
  while ((await sendOnce(server.port, request)).status !== 200) await pause(20)
  return performance.now() - startedAt
}

/** Of a caller with few requests: the part of them that is served while another one floods. */
async function measureShares(
  target: Target,
  capacity: number,
  seconds: number,
): Promise<Record<string, number>> {
  // Also a valid one: requests without a valid key cost little, because their address exceeds its rate limit.
  const many = [target.keys[0], ...Array.from({ length: 9 }, (_, n) => `made-up-${n}`)]
  const flood = { name: 'flood', addresses: ['127.0.0.5'], perSecond: 4 * capacity }
  const calm = { addresses: ['127.0.0.6'], keys: [target.keys[1]], perSecond: calmFactor * capacity }
  const shareOf = async (...groups: Partial<CallerGroup>[]) => {
    const [report] = await arrive(
      target,
      seconds,
      groups.map((group) => groupOf(target, group)),
    )
    return report === undefined ? 0 : report.good / report.sent
  }
  return {
    'a key floods, from the same address': await shareOf(calm, { ...flood, addresses: calm.addresses }),
    'an address floods with many keys': await shareOf(calm, { ...flood, keys: many }),
  }
}

type Probes = { readonly sent: number; readonly failed: number; readonly longestMs: number }

/** Requests `/healthz` and `/readyz` again and again. */
function watchProbes({ server }: Target): { stop(): Promise<Probes> } {
  let isOver = false
  const watch = async () => {
    let [sent, failed, longestMs] = [0, 0, 0]
    while (!isOver) {
      for (const path of ['/healthz', '/readyz']) {
        const startedAt = performance.now()
        const response = await sendOnce(server.port, serializeRequest('GET', path, {})).catch(() => undefined)
        sent++
        if (response?.status !== 200) failed++
        longestMs = Math.max(longestMs, performance.now() - startedAt)
      }
      await pause(probeMs)
    }
    return { sent, failed, longestMs }
  }
  const watching = watch()
  return {
    stop() {
      isOver = true
      return watching
    },
  }
}

const percent = (share: number) => `${(100 * share).toFixed(0)} %`

function goodputVerdict(engine: Engine, capacity: number, reports: readonly GroupReport[]): Verdict {
  const peak = peakOf(0, reports)
  const last = reports.at(-1) as GroupReport
  const ratio = last.goodPerSecond / peak
  const hasRetryAfter = reports.every((report) => report.hasRetryAfter)
  const rates = reports.map(
    ({ goodPerSecond, perSecond }) => `${goodPerSecond.toFixed(0)} of ${perSecond.toFixed(0)}/s`,
  )
  const timeouts = last.statuses.timeout ?? 0
  return {
    promise: `Beyond its capacity the service still serves at least ${percent(goodputMin)} of its peak (${engine})`,
    method: `callers arrive at 0.5, 1, 2 and 4 times the capacity and give up after 2 s; mixed reads, searches and changes; medians of ${roundsOfFactors} rounds`,
    figures: `capacity ${capacity.toFixed(0)}/s, served ${rates.join(', ')}: ${percent(ratio)} of the peak at 4 times; of ${last.sent} there, ${last.statuses['503'] ?? 0} got a 503 with Retry-After (median after ${last.rejectedP50Ms?.toFixed(0)} ms), ${timeouts} no response in time; callers were sent up to ${last.lateP99Ms.toFixed(0)} ms late (p99)`,
    isHeld: ratio >= goodputMin && hasRetryAfter,
  }
}

const recoveryVerdict = (engine: Engine, ms: number): Verdict => ({
  promise: `It recovers within 2 s after the load ends (${engine})`,
  method: 'a request after the load of four times the capacity',
  figures: `served ${ms.toFixed(0)} ms after the last response`,
  isHeld: ms < recoveryMaxMs,
})

const probeVerdict = (engine: Engine, { sent, failed, longestMs }: Probes): Verdict => ({
  promise: `/healthz and /readyz respond during an overload (${engine})`,
  method: 'a new connection for each, about five times a second, during all of the above',
  figures: `${failed} of ${sent} failed, the longest took ${longestMs.toFixed(0)} ms`,
  isHeld: failed === 0 && longestMs < probeMaxMs,
})

function shareVerdict(engine: Engine, shares: Readonly<Record<string, number>>): Verdict {
  const texts = Object.entries(shares).map(([name, share]) => `${name}: ${percent(share)}`)
  return {
    promise: `A caller that floods takes no more than its share (${engine})`,
    method: `four times the capacity from one caller, and a tenth of the capacity from another one, of which at least ${percent(calmGoodMin)} must be served`,
    figures: texts.join('; '),
    isHeld: Object.values(shares).every((share) => share >= calmGoodMin),
  }
}
