import { formatCount } from '../formatCount.ts'
import type { Check, RunOptions, Verdict } from '../verdict.ts'
import { runTests, type TestRun } from './runTests.ts'

const names = { sqlite: 'SQLite', postgres: 'PostgreSQL' }
/**
 * One loop checks everything after its last kill, so several loops find more than a long one. A longer one can exhaust the
 * requests of a key for a day.
 */
const killsOfLoop = { full: 40, quick: 5 }
const killsMin = { full: 300, quick: 5 }
const loopsMax = 10
const killsOfUploads = '30'
const outputShownMax = 4_000

/** The tests with killed instances and failing disks, for longer than `npm run test:slow`. */
export const crashes: Check = {
  name: 'crashes',
  async run(options) {
    const { engines, isQuick } = options
    const parts = [killInstances]
    if (!isQuick) parts.push(killUploads)
    if (engines.includes('sqlite')) parts.push(breakDisks)
    if (engines.includes('postgres') && !isQuick) parts.push(breakPostgres)
    // A short run has no time for one after another.
    if (isQuick) return Promise.all(parts.map((part) => part(options)))
    const verdicts: Verdict[] = []
    for (const part of parts) verdicts.push(await part(options))
    return verdicts
  },
}

/** The numbers before a word in the reports of an engine, added up. */
const sum = (runs: readonly TestRun[], engine: string, word: string): number =>
  runs
    .flatMap(({ reports }) => reports)
    .filter((report) => report.engine === engine)
    .flatMap(({ text }) => [...text.matchAll(new RegExp(`(\\d+) ${word}`, 'g'))])
    .reduce((total, [, digits]) => total + Number(digits), 0)

const numbers = (
  runs: readonly TestRun[],
  engines: RunOptions['engines'],
  words: readonly string[],
): string =>
  engines
    .map((engine) => {
      const counts = words.map((word) => `${formatCount(sum(runs, names[engine], word))} ${word}`)
      return `${names[engine]}: ${counts.join(', ')}`
    })
    .join('; ')

function verdictOf(runs: readonly TestRun[], verdict: Omit<Verdict, 'isHeld'>, isEnough = true): Verdict {
  const failed = runs.find(({ hasPassed }) => !hasPassed)
  const explanation = failed
    ? failed.output.slice(-outputShownMax)
    : isEnough
      ? undefined
      : 'There were too few kills.'
  return { ...verdict, isHeld: explanation === undefined, ...(explanation !== undefined && { explanation }) }
}

async function killInstances({ isQuick, engines, log }: RunOptions): Promise<Verdict> {
  const mode = isQuick ? 'quick' : 'full'
  const runs: TestRun[] = []
  const kills = () => Math.min(...engines.map((engine) => sum(runs, names[engine], 'kills')))
  while (runs.length < loopsMax && kills() < killsMin[mode] && runs.every(({ hasPassed }) => hasPassed)) {
    runs.push(
      await runTests(['test/store/kills.slow.test.ts'], engines, {
        PETSTORE_TEST_KILLS: String(killsOfLoop[mode]),
      }),
    )
    log(`crashes: at least ${kills()} kills on each engine`)
  }
  const words = ['kills', 'requests', 'events', 'webhook messages']
  return verdictOf(
    runs,
    {
      promise:
        'A kill at any moment loses no confirmed change, repeats nothing and skips no event or webhook message',
      method:
        'SIGKILL of an instance while callers create, change, order and delete: one instance on SQLite, three on PostgreSQL',
      figures: numbers(runs, engines, words),
    },
    kills() >= killsMin[mode],
  )
}

async function killUploads({ engines, log }: RunOptions): Promise<Verdict> {
  log('crashes: uploads of photos')
  const runs = [
    await runTests(['test/store/photoKills.slow.test.ts'], engines, { PETSTORE_TEST_KILLS: killsOfUploads }),
  ]
  return verdictOf(runs, {
    promise: 'A kill during an upload leaves a photo whole or not at all',
    method: 'SIGKILL while three callers upload photos',
    figures: numbers(runs, engines, ['kills', 'photos confirmed']),
  })
}

const diskTests = ['diskFailure.test.ts']
const moreDiskTests = ['slowDisk.test.ts', 'unwritableFolder.test.ts', 'interruptedBackup.slow.test.ts']

async function breakDisks({ isQuick, log }: RunOptions): Promise<Verdict> {
  log('crashes: disks')
  const files = isQuick ? diskTests : [...diskTests, ...moreDiskTests]
  const runs = [
    await runTests(
      files.map((file) => `test/sqlite/${file}`),
      ['sqlite'],
    ),
  ]
  const more = ', syncs that hang, folders that cannot be written, and backups that are killed'
  return verdictOf(runs, {
    promise:
      'A disk that fails, hangs or is full loses nothing that was confirmed, and the service says what is wrong',
    method: `on SQLite: syncs that fail with EIO, files that cannot grow${isQuick ? '' : more}`,
    figures: passedIn(runs, files),
  })
}

async function breakPostgres({ log }: RunOptions): Promise<Verdict> {
  log('crashes: PostgreSQL')
  const files = ['faults', 'killedInstances', 'stoppedInstance', 'stoppedPostgres'].map(
    (name) => `${name}.slow.test.ts`,
  )
  const runs = [
    await runTests(
      files.map((file) => `test/postgres/${file}`),
      ['postgres'],
    ),
  ]
  return verdictOf(runs, {
    promise:
      'Without PostgreSQL every request gets a response in time, and the service recovers without a restart',
    method:
      'PostgreSQL that is gone, hangs, is slow, read-only, out of connections, crashes or is stopped, and instances that are killed or stopped in a transaction',
    figures: passedIn(runs, files),
  })
}

const passedIn = (runs: readonly TestRun[], files: readonly string[]) =>
  `${runs[0]?.passed} tests passed: ${files.join(', ')}`
