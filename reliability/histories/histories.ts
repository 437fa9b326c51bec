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
  sqlite: { name: 'SQLite', create: sqliteStage, what: 'one instance', seconds: 120, quickSeconds: 8 },
  postgres: {
    name: 'PostgreSQL',
    create: postgresStage,
    what: 'three instances',
    seconds: 240,
    quickSeconds: 20,
  },
}
type Run = StageResult & { readonly name: string; readonly what: string }

/** What callers see while instances and databases fail, checked against the interface. */
export const histories: Check = {
  name: 'histories',
  async run({ isQuick, engines, seed, log }: RunOptions): Promise<Verdict[]> {
    const runs: Run[] = []
    for (const engine of engines) {
      const { name, what, create, ...times } = stages[engine]
      const seconds = isQuick ? times.quickSeconds : times.seconds
      log(`histories: ${callers} callers on ${name} for ${seconds} s`)
      const result = await runStage(create, {
        ...{ seconds, seed, callers, gapMs: isQuick ? gapMs.quick : gapMs.full },
        log: (line) => log(`histories: ${line}`),
      })
      for (const { promise, message } of result.findings.problems.slice(0, problemsShown))
        log(`histories: ${promise}: ${message}`)
      runs.push({ ...result, name, what })
    }
    return (Object.keys(promises) as PromiseName[]).map((promise, index) => ({
      ...verdictOf(promise, runs),
      method: index === 0 ? runs.map(methodOf).join('; ') : 'the same histories',
    }))
  },
}

function verdictOf(promise: PromiseName, runs: readonly Run[]): Omit<Verdict, 'method'> {
  const broken = runs.flatMap(({ name, findings, file }) =>
    findings.problems
      .filter((problem) => problem.promise === promise)
      .map(({ message }) => `${name}: ${message} (${file})`),
  )
  return {
    promise: promises[promise],
    figures: runs.map((run) => `${run.name}: ${figuresOf[promise](run)}`).join('; '),
    isHeld: broken.length === 0,
    ...(broken[0] !== undefined && { explanation: `${broken.length} violations, the first: ${broken[0]}` }),
  }
}

const methodOf = ({ name, what, faults }: Run): string => {
  const list = [...faults].sort().map(([fault, count]) => `${count} × ${fault}`)
  return `histories of ${callers} random callers of ${what} on ${name}: ${list.join(', ')}`
}

const number = (value: number): string => value.toLocaleString('en-US')

const count = (calls: readonly Call[], kinds: readonly string[], is: (call: Call) => unknown): string =>
  number(calls.filter((call) => kinds.includes(requestOf(call).kind) && is(call)).length)

const hasStatus = (status: number) => (call: Call) => call.response?.status === status

const figuresOf: Record<PromiseName, (run: Run) => string> = {
  responses({ calls }) {
    const all = Map.groupBy(calls, ({ outcome }) => outcome)
    const of = (outcome: Call['outcome']) => `${number(all.get(outcome)?.length ?? 0)} ${outcome}`
    return `${number(calls.length)} calls: ${of('known')}, ${of('failed')}, ${of('unknown')}`
  },
  linearizable: ({ findings: { animals, operations } }) =>
    `${number(animals)} animals, ${number(operations)} operations`,
  updates({ calls }) {
    const conditional = calls.filter(({ ifMatch }) => ifMatch !== undefined)
    const kinds = ['change', 'remove']
    return `${count(conditional, kinds, isSuccess)} made, ${count(conditional, kinds, hasStatus(412))} rejected`
  },
  orders: ({ calls }) =>
    `${count(calls, ['place'], isSuccess)} placed, ${count(calls, ['place'], hasStatus(409))} rejected`,
  replays: ({ calls }) =>
    `${count(calls, ['create', 'place'], ({ response }) => response?.isReplayed)} replays`,
  feed: ({ calls, findings: { events } }) =>
    `${number(events)} events, read in ${count(calls, ['events'], isSuccess)} pages`,
  inventory: ({ calls }) =>
    `${count(calls.filter(isFinal), ['inventory'], isSuccess)} compared after ${count(calls, ['create', 'remove'], isSuccess)} animals came or went`,
}
