import { setTimeout as pause } from 'node:timers/promises'
import { sendOnce, serializeRequest } from '../../bench/load/client.ts'
import { median, type Spread, spreadOf } from '../../bench/statistics.ts'
import { formatCount } from '../formatCount.ts'
import type { CallerGroup, GroupReport } from '../load/plan.ts'
import { type Engine, mixedRequests, runArrivals, startTarget, type Target } from '../load/target.ts'
import type { Check, RunOptions, Verdict } from '../verdict.ts'

const factors = [0.5, 1, 2, 4]
const goodputMin = 0.8
const recoveryMaxMs = 2_000
/** A caller below its share is served, apart from the first second of an overload. */
const calmGoodMin = 0.9
const calmFactor = 0.1
const roundsMax = 5
const secondsOfFactor = { full: 6, quick: 3 }
const secondsOfShares = { full: 20, quick: 3 }
const secondsOfCapacity = 3
/** Of a flood with many keys: fewer than half of its requests have the same key. 11 keys and 10 kinds of requests have no common divisor, so each key sends every kind. */
const floodKeys = { valid: 6, madeUp: 5 }
const warmUps = 2
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

/** The load at each factor of the capacity that was measured just before. */
type Round = {
  readonly capacity: number
  /** For each factor. */
  readonly reports: readonly GroupReport[]
}

const atFourTimes = ({ reports }: Round) => reports.at(-1) as GroupReport

async function runOn(engine: Engine, options: RunOptions): Promise<Verdict[]> {
  const target = await startTarget(engine)
  let probes: ReturnType<typeof watchProbes> | undefined
  try {
    for (let n = 0; n < warmUps; n++) await measureCapacity(target)
    probes = watchProbes(target)
    const rounds: Round[] = []
    while (rounds.length < (options.isQuick ? 1 : roundsMax))
      rounds.push(await runRound(target, engine, options))
    const shares = await measureShares(target, engine, options)
    return [
      goodputVerdict(engine, rounds),
      recoveryVerdict(engine, rounds),
      probeVerdict(engine, await probes.stop()),
      shareVerdict(engine, shares),
    ]
  } finally {
    await probes?.stop()
    await target.stop()
  }
}

/** The speed of a virtual machine can change within a minute, so only figures of the same round are compared. */
async function runRound(target: Target, engine: Engine, { isQuick, log }: RunOptions): Promise<Round> {
  const capacity = await measureCapacity(target)
  log(`overload, ${engine}: capacity ${capacity.toFixed(0)} requests/s`)
  const reports: GroupReport[] = []
  for (const factor of factors) {
    const perSecond = factor * Math.max(capacity, peakOf(reports))
    const seconds = isQuick ? secondsOfFactor.quick : secondsOfFactor.full
    const group = groupOf(target, { perSecond, isRecoveryMeasured: factor === factors.at(-1) })
    const report = await arrive(target, seconds, [group])
    reports.push(report)
    log(`overload, ${engine}: ${factor} times: ${JSON.stringify(report.statuses)}`)
  }
  return { capacity, reports }
}

/**
 * What was served at four times the capacity, divided by what was served at each factor: the median of the rounds, of which
 * the lowest counts. The best factor of each round would be too high: with figures that vary by a tenth, the highest of four
 * exceeds their mean by a tenth. The measured capacity is no factor: its callers wait for each other.
 */
function goodputRatio(rounds: readonly Round[]): Spread {
  const ratioTo = (index: number) => (round: Round) =>
    atFourTimes(round).goodPerSecond / Math.max((round.reports[index] as GroupReport).goodPerSecond, 1)
  const ratios = factors.map((_, index) => spreadOf(rounds.map(ratioTo(index))))
  return ratios.reduce((lowest, ratio) => (ratio.value < lowest.value ? ratio : lowest))
}

const groupOf = (target: Target, more: Partial<CallerGroup>): CallerGroup => ({
  name: 'callers',
  addresses: ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'],
  keys: [target.keys[0]],
  kinds: mixedRequests(target.animals),
  perSecond: 0,
  ...more,
})

/** Returns the report of the first group. */
async function arrive(target: Target, seconds: number, groups: readonly CallerGroup[]): Promise<GroupReport> {
  const [report] = await runArrivals(target, { seconds, groups })
  return report as GroupReport
}

const peakOf = (reports: readonly GroupReport[]) =>
  Math.max(0, ...reports.map(({ goodPerSecond }) => goodPerSecond))

async function measureCapacity(target: Target): Promise<number> {
  const group = groupOf(target, { callers: callersOfCapacity })
  return (await arrive(target, secondsOfCapacity, [group])).goodPerSecond
}

type Share = {
  readonly name: string
  /** The part of the requests of the calm caller that was served. */
  readonly served: number
  /** The part of the flood that was rejected. */
  readonly floodRejected: number
}

/** A caller with few requests while another one floods. */
async function measureShares(target: Target, engine: Engine, options: RunOptions): Promise<Share[]> {
  const keys = Array.from({ length: floodKeys.madeUp }, (_, n) => `made-up-${n}`)
  while (keys.length < floodKeys.madeUp + floodKeys.valid) keys.push(await target.makeKey())
  const calm = { addresses: ['127.0.0.6'], keys: [target.keys[1]] }
  const measure = async (name: string, flooding: Partial<CallerGroup>): Promise<Share> => {
    const capacity = await measureCapacity(target)
    const calmGroup = groupOf(target, { ...calm, perSecond: calmFactor * capacity })
    const floodGroup = groupOf(target, { name: 'flood', ...flooding, perSecond: 4 * capacity })
    const seconds = options.isQuick ? secondsOfShares.quick : secondsOfShares.full
    const reports = await runArrivals(target, { seconds, groups: [calmGroup, floodGroup] })
    const [callerReport, floodReport] = reports as [GroupReport, GroupReport]
    const served = callerReport.good / callerReport.sent
    options.log(`overload, ${engine}: ${name}: ${percent(served)} ${JSON.stringify(reports)}`)
    return { name, served, floodRejected: (floodReport.statuses['503'] ?? 0) / floodReport.sent }
  }
  return [
    await measure('a key floods, from the same address', { addresses: calm.addresses }),
    await measure('an address floods with many keys', { addresses: ['127.0.0.5'], keys }),
  ]
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
        const request = serializeRequest('GET', path, {})
        const response = await sendOnce(server.port, request, 2 * probeMaxMs).catch(() => undefined)
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
const totalOf = (reports: readonly GroupReport[], count: (report: GroupReport) => number) =>
  formatCount(reports.reduce((sum, report) => sum + count(report), 0))
const exactPercent = (share: number) => `${(100 * share).toFixed(1)} %`

function goodputVerdict(engine: Engine, rounds: readonly Round[]): Verdict {
  const ratio = goodputRatio(rounds)
  const capacity = spreadOf(rounds.map((round) => round.capacity))
  const lasts = rounds.map(atFourTimes)
  const sent = totalOf(lasts, (report) => report.sent)
  const rejected = totalOf(lasts, ({ statuses }) => statuses['503'] ?? 0)
  const all = rounds.flatMap(({ reports }) => reports)
  const lost = totalOf(all, ({ statuses: { timeout = 0, closed = 0 } }) => timeout + closed)
  const rejectedMs = lasts.flatMap(({ rejectedP50Ms }) => rejectedP50Ms ?? [])
  const rejectedAfter = rejectedMs.length === 0 ? '' : ` (median after ${median(rejectedMs).toFixed(0)} ms)`
  const lateMs = Math.max(...lasts.map(({ lateP99Ms }) => lateP99Ms))
  const problem = rounds.every(({ reports }) => reports.every(({ hasRetryAfter }) => hasRetryAfter))
    ? ratio.value < goodputMin && rejectionCost
    : 'A 503 had no Retry-After of at least a second.'
  return {
    promise: `Beyond its capacity the service still serves at least ${percent(goodputMin)} of its peak, in the median of the rounds (${engine})`,
    method: `callers arrive at 0.5, 1, 2 and 4 times the capacity and give up after 2 s; 40 % searches, 20 % lists, 20 % single animals, 10 % creates, 10 % changes; 5,000 animals; ${rounds.length} rounds, compared with the factor for which the median ratio of the rounds is the lowest; every 503 has a Retry-After`,
    figures: `capacity ${capacity.value.toFixed(0)}/s (${range(capacity, (rate) => rate.toFixed(0))}), served at 4 times: ${exactPercent(ratio.value)} of the peak (in single rounds ${range(ratio, exactPercent)}); of ${sent} requests then, ${rejected} got a 503${rejectedAfter}; at all factors together, ${lost} timed out or lost their connection; requests were sent up to ${lateMs.toFixed(0)} ms late (p99)`,
    isHeld: problem === false,
    ...(problem !== false && { explanation: problem }),
  }
}

/** See docs/decisions/0060-load-shedding.md. */
const rejectionCost =
  'A rejection takes processor time: Node parses the request, and the kernel sends the response. 80 % can remain only if it takes less than a sixteenth of the time of a request. On loopback, it also includes the time in which the caller receives the response.'

const range = ({ min, max }: Spread, format: (value: number) => string) => `${format(min)} to ${format(max)}`

function recoveryVerdict(engine: Engine, rounds: readonly Round[]): Verdict {
  const longest = Math.max(
    ...rounds.map((round) => atFourTimes(round).recoveryMs ?? Number.POSITIVE_INFINITY),
  )
  return {
    promise: `It recovers within 2 s after the load ends (${engine})`,
    method:
      'a request on a new connection, again and again from the last arrival at four times the capacity on, until it is served',
    figures: `${longest === Number.POSITIVE_INFINITY ? 'not served within 10 s' : `served after at most ${longest.toFixed(0)} ms`}, in ${rounds.length} rounds`,
    isHeld: longest < recoveryMaxMs,
  }
}

const probeVerdict = (engine: Engine, { sent, failed, longestMs }: Probes): Verdict => ({
  promise: `/healthz and /readyz respond within 1 s during an overload (${engine})`,
  method: 'a new connection for each, several times a second, during all of the above',
  figures: `${formatCount(failed)} of ${formatCount(sent)} failed, the longest took ${longestMs.toFixed(0)} ms`,
  isHeld: failed === 0 && longestMs < probeMaxMs,
})

function shareVerdict(engine: Engine, shares: readonly Share[]): Verdict {
  const texts = shares.map(
    ({ name, served, floodRejected }) =>
      `${name}: ${percent(served)}, ${percent(floodRejected)} of the flood rejected`,
  )
  return {
    promise: `A caller that sends little is served while another one floods (${engine})`,
    method: `four times the capacity from one caller, and a tenth of the capacity from another one, of which at least ${percent(calmGoodMin)} must be served`,
    figures: texts.join('; '),
    isHeld: shares.every(({ served, floodRejected }) => served >= calmGoodMin && floodRejected > 0),
  }
}
