import { assertHaproxyInstalled } from '../../test/support/haproxy.ts'
import { formatCount } from '../formatCount.ts'
import type { Check, RunOptions, Verdict } from '../verdict.ts'
import { isSuccess, requestOf } from './check/requests.ts'
import { type Call, isFinal, type PromiseName, promises } from './history.ts'
import { runStage, type StageResult } from './runStage.ts'
import { postgresStage, sqliteStage } from './stages.ts'

const callers = 12
const problemsShown = 5
/** Between two faults: shorter in a quick run, so that many faults happen in its time. */
const gapMs = { full: { min: 500, max: 5_000 }, quick: { min: 200, max: 2_000 } }
const stages = {
  sqlite: {
    name: 'SQLite',
    create: sqliteStage,
    what: 'one instance',
    seconds: 30,
    count: 4,
    quickSeconds: 8,
  },
  postgres: {
    name: 'PostgreSQL',
    create: postgresStage,
    what: 'three instances',
    seconds: 120,
    count: 2,
    quickSeconds: 20,
  },
}
type Run = { readonly results: readonly StageResult[]; readonly name: string; readonly what: string }

/** What callers see while instances and databases fail, checked against the interface. */
export const histories: Check = {
  name: 'histories',
  assertRunnable({ engines }) {
    if (engines.includes('postgres')) assertHaproxyInstalled()
  },
  async run({ isQuick, engines, seed, log }: RunOptions): Promise<Verdict[]> {
    const runs: Run[] = []
    for (const engine of engines) {
      const { name, what, create, ...times } = stages[engine]
      const seconds = isQuick ? times.quickSeconds : times.seconds
      const results: StageResult[] = []
      // Each has a database of its own. What is compared at the end is compared several times.
      while (results.length < (isQuick ? 1 : times.count)) {
        log(`histories: ${callers} callers on ${name} for ${seconds} s`)
        const result = await runStage(create, {
          ...{ seconds, callers, gapMs: isQuick ? gapMs.quick : gapMs.full },
          seed: seed + results.length,
          log: (line) => log(`histories: ${line}`),
        })
        for (const { promise, message } of result.findings.problems.slice(0, problemsShown))
          log(`histories: ${promise}: ${message}`)
        results.push(result)
      }
      runs.push({ results, name, what })
    }
    return (Object.keys(promises) as PromiseName[]).map((promise, index) => ({
      ...verdictOf(promise, runs),
      method: index === 0 ? runs.map(methodOf).join('; ') : 'the same histories',
    }))
  },
}

function verdictOf(promise: PromiseName, runs: readonly Run[]): Omit<Verdict, 'method'> {
  const broken = runs.flatMap(({ name, results }) =>
    results.flatMap(({ findings, file }) =>
      findings.problems
        .filter((problem) => problem.promise === promise)
        .map(({ message }) => `${name}: ${message} (${file})`),
    ),
  )
  return {
    promise: promises[promise],
    figures: runs.map(({ name, results }) => `${name}: ${figuresOf[promise](results)}`).join('; '),
    isHeld: broken.length === 0,
    ...(broken[0] !== undefined && { explanation: `${broken.length} violations, the first: ${broken[0]}` }),
  }
}

function methodOf({ name, what, results }: Run): string {
  const counts = new Map<string, number>()
  for (const [fault, times] of results.flatMap(({ faults }) => [...faults]))
    counts.set(fault, (counts.get(fault) ?? 0) + times)
  const list = [...counts].sort().map(([fault, times]) => `${times} × ${fault}`)
  const histories = results.length === 1 ? '1 history' : `${results.length} histories`
  return `${histories} of ${callers} random callers of ${what} on ${name}: ${list.join(', ')}`
}

const count = (calls: readonly Call[], kinds: readonly string[], is: (call: Call) => unknown): string =>
  formatCount(calls.filter((call) => kinds.includes(requestOf(call).kind) && is(call)).length)

const hasStatus = (status: number) => (call: Call) => call.response?.status === status

type Results = readonly StageResult[]

const callsOf = (results: Results): Call[] => results.flatMap(({ calls }) => calls)

const found = (results: Results, what: 'animals' | 'operations' | 'events'): string =>
  formatCount(results.reduce((sum, { findings }) => sum + findings[what], 0))

const figuresOf: Record<PromiseName, (results: Results) => string> = {
  responses(results) {
    const calls = callsOf(results)
    const all = Map.groupBy(calls, ({ outcome }) => outcome)
    const of = (outcome: Call['outcome']) => `${formatCount(all.get(outcome)?.length ?? 0)} ${outcome}`
    return `${formatCount(calls.length)} calls: ${of('known')}, ${of('failed')}, ${of('unknown')}`
  },
  linearizable: (results) =>
    `${found(results, 'animals')} animals, ${found(results, 'operations')} operations`,
  updates(results) {
    const conditional = callsOf(results).filter(({ ifMatch }) => ifMatch !== undefined)
    const kinds = ['change', 'remove']
    return `${count(conditional, kinds, isSuccess)} made, ${count(conditional, kinds, hasStatus(412))} rejected`
  },
  orders(results) {
    const calls = callsOf(results)
    return `${count(calls, ['place'], isSuccess)} placed, ${count(calls, ['place'], hasStatus(409))} rejected`
  },
  replays: (results) =>
    `${count(callsOf(results), ['create', 'place'], ({ response }) => response?.isReplayed)} replays`,
  feed: (results) =>
    `${found(results, 'events')} events, read in ${count(callsOf(results), ['events'], isSuccess)} pages`,
  inventory(results) {
    const calls = callsOf(results)
    return `${count(calls.filter(isFinal), ['inventory'], isSuccess)} compared after ${count(calls, ['create', 'remove'], isSuccess)} animals came or went`
  },
}
