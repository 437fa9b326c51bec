import { setTimeout as pause } from 'node:timers/promises'
import { randomFrom } from '../../test/support/faultProxy.ts'
import { makeAmpleKey } from '../../test/support/instances.ts'
import { type Server, SuiteCleanup } from '../../test/support/servers.ts'
import { Callers } from './callers.ts'
import { checkHistory, type Findings } from './check/checkHistory.ts'
import { causeFaults, type Range } from './faults.ts'
import { readAll } from './finalReads.ts'
import type { Call } from './history.ts'
import { Recorder } from './recorder.ts'
import type { Stage } from './stages.ts'

export type StageResult = {
  readonly calls: readonly Call[]
  readonly findings: Findings
  readonly faults: ReadonlyMap<string, number>
  /** The history, if something is wrong. */
  readonly file: string | undefined
}

export type StageOptions = {
  readonly seconds: number
  readonly seed: number
  readonly callers: number
  /** Between two faults. */
  readonly gapMs: Range
  readonly log: (line: string) => void
}

/** Records what callers see for a time while faults happen, then checks it. */
export async function runStage(
  createStage: (owner: SuiteCleanup) => Promise<Stage>,
  { seconds, seed, callers: count, gapMs, log }: StageOptions,
): Promise<StageResult> {
  const owner = new SuiteCleanup()
  try {
    const { cluster, faults } = await createStage(owner)
    const recorder = new Recorder(await makeAmpleKey(cluster.all[0] as Server))
    const random = (stream: number) => randomFrom((seed * 1_009 + stream * 7_919) % 2 ** 32)
    const callers = new Callers({ recorder, instances: () => cluster.all, random, callers: count })
    const counts = new Map<string, number>()
    const note = (fault: string) => {
      counts.set(fault, (counts.get(fault) ?? 0) + 1)
      recorder.note(fault)
    }
    const working = callers.run()
    const breaking = Promise.all(
      faults.map((list, n) => causeFaults(list, gapMs, random(count + n), () => callers.isOver, note)),
    )
    await Promise.race([pause(seconds * 1_000), working, breaking])
    callers.end()
    await Promise.all([working, breaking])
    await cluster.ready()
    await readAll(recorder, cluster.all)
    log(`recorded ${recorder.calls.length} calls, checks them`)
    const findings = checkHistory(recorder.calls)
    const file = await recorder.close(findings.problems.length > 0 ? cluster.log : undefined)
    return { calls: recorder.calls, findings, faults: counts, file }
  } finally {
    await owner.end()
  }
}
