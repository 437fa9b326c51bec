/**
 * Runs the tests, on both engines.
 *
 *     node test/run.ts                                        everything
 *     node test/run.ts --engine postgres                      what runs on one engine: sqlite or postgres
 *     node test/run.ts --engine postgres test/store/pets.test.ts    one file on one engine
 *
 * Where a file lies says where it runs:
 *
 *     test/plain/      needs no store: once
 *     test/store/      over a service or a store: on SQLite and on PostgreSQL
 *     test/embedded/   about the embedded engine and its files: on SQLite
 *     test/postgres/   about PostgreSQL: on PostgreSQL, a real one that is started here and thrown away
 *
 * A test that is skipped, and a PostgreSQL that does not start, count as failures. One exception: on a machine without a
 * browser the tests that need one are skipped and reported. With PETSTORE_TEST_REQUIRE_BROWSER=true they fail the run.
 */
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { prepareTemplate } from './support/engine.ts'
import { findBrowser, installHint, noBrowserReason } from './support/findBrowser.ts'
import { startPostgres } from './support/postgres.ts'

type Engine = 'sqlite' | 'postgres'
type Counts = {
  passed: number
  failed: number
  skipped: number
  /** Skipped because this machine has no browser. */
  withoutBrowser: number
  seconds: number
  /** How many of those that passed are in test/store. */
  ofStore: number
  files: { file: string; seconds: number }[]
}

const root = fileURLToPath(new URL('../', import.meta.url))
const concurrency = 3
const slowestShown = 8
/** A file that hangs fails; on a busy machine the longest take minutes. */
const fileMaxMs = 600_000
const engines: Record<Engine, { name: string; folders: readonly string[] }> = {
  sqlite: { name: 'SQLite', folders: ['plain', 'store', 'embedded'] },
  postgres: { name: 'PostgreSQL', folders: ['store', 'postgres'] },
}
/** These take longest: begun last, they would run alone at the end. */
const longest = ['commandLine', 'cleanStop', 'crash', 'docs']
const hasBrowser = findBrowser() !== undefined
const isBrowserRequired = process.env.PETSTORE_TEST_REQUIRE_BROWSER === 'true'

const { values, positionals } = parseArgs({
  options: { engine: { type: 'string' }, name: { type: 'string' } },
  allowPositionals: true,
})
const chosen = (Object.keys(engines) as Engine[]).filter(
  (engine) => values.engine === undefined || values.engine === engine,
)
if (chosen.length === 0) throw new Error(`--engine must be sqlite or postgres, but is "${values.engine}".`)

/** The files of an engine, or those of them that were asked for. */
function filesOf(engine: Engine): string[] {
  const asked = positionals.map((path) => resolve(path))
  const place = (file: string) => {
    const found = longest.findIndex((name) => basename(file).startsWith(`${name}.`))
    return found === -1 ? longest.length : found
  }
  return engines[engine].folders
    .flatMap((folder) => globSync(join(root, 'test', folder, '**/*.test.ts')))
    .filter((file) => asked.length === 0 || asked.some((path) => !relative(path, file).startsWith('..')))
    .sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1))
}

async function runOn(engine: Engine, files: string[], env: NodeJS.ProcessEnv): Promise<Counts> {
  const counts: Counts = {
    passed: 0,
    failed: 0,
    skipped: 0,
    withoutBrowser: 0,
    seconds: 0,
    ofStore: 0,
    files: [],
  }
  const startedAt = performance.now()
  const tests = run({
    files,
    concurrency,
    timeout: fileMaxMs,
    ...(values.name !== undefined && { testNamePatterns: [values.name] }),
    signal: interrupted.signal,
    env: { ...env, PETSTORE_TEST_ENGINE: engine },
  })
  tests.on('test:fail', ({ details }) => {
    // A group fails with each of its tests, which are counted; but also by itself, before or after them.
    if ((details.error as { failureType?: string }).failureType !== 'subtestsFailed') counts.failed++
  })
  tests.on('test:pass', ({ details, skip, todo, file }) => {
    if (details.type === 'suite') return
    if (skip !== undefined || todo !== undefined) {
      if (skip === noBrowserReason && !hasBrowser) counts.withoutBrowser++
      else counts.skipped++
      return
    }
    counts.passed++
    if (file?.startsWith(join(root, 'test', 'store'))) counts.ofStore++
  })
  tests.on('test:summary', ({ file, duration_ms }) => {
    if (file !== undefined) counts.files.push({ file: relative(root, file), seconds: duration_ms / 1000 })
  })
  for await (const text of tests.compose(new spec())) process.stdout.write(text)
  counts.seconds = (performance.now() - startedAt) / 1000
  return counts
}

const plan = chosen
  .map((engine) => ({ engine, files: filesOf(engine) }))
  .filter(({ files }) => files.length > 0)
if (plan.length === 0) throw new Error('There is no such test.')

// What one process has compiled, the hundreds after it need not compile again.
const cache = mkdtempSync(join(tmpdir(), 'petstore-compiled-'))
process.on('exit', () => rmSync(cache, { recursive: true, force: true, maxRetries: 5 }))
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => interrupted.abort())

const results = new Map<Engine, Counts>()
const postgres = plan.some(({ engine }) => engine === 'postgres') ? await startPostgres() : undefined
try {
  if (postgres) await prepareTemplate(postgres.adminUrl)
  for (const { engine, files } of plan) {
    const env = {
      ...process.env,
      NODE_COMPILE_CACHE: cache,
      ...(engine === 'postgres' && { PETSTORE_TEST_POSTGRES_URL: postgres?.adminUrl }),
    }
    console.log(`\n=== ${engines[engine].name}: ${files.length} files ===\n`)
    results.set(engine, await runOn(engine, files, env))
  }
} finally {
  await postgres?.stop()
}

console.log('\n=== Which engines ran ===\n')
for (const [engine, { name }] of Object.entries(engines)) {
  const counts = results.get(engine as Engine)
  console.log(
    counts
      ? `${name.padEnd(12)}${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped, in ${Math.round(counts.seconds)} s`
      : `${name.padEnd(12)}did not run`,
  )
}
const all = [...results.values()]
const slowest = all.flatMap(({ files }) => files).sort((a, b) => b.seconds - a.seconds)
console.log('\nThe slowest files:')
for (const { file, seconds } of slowest.slice(0, slowestShown))
  console.log(`${String(Math.round(seconds)).padStart(5)} s  ${file}`)
const isSame = all.every(({ ofStore }) => ofStore === all[0]?.ofStore)
if (!isSame) console.log('\nThe engines did not pass the same number of tests in test/store.')
const withoutBrowser = all.reduce((sum, counts) => sum + counts.withoutBrowser, 0)
if (withoutBrowser > 0) {
  console.log(`\n${withoutBrowser} browser tests were skipped. ${noBrowserReason} ${installHint}`)
  if (isBrowserRequired) console.log('PETSTORE_TEST_REQUIRE_BROWSER is set, so this is a failure.')
}
const isGood = (counts: Counts) =>
  counts.passed + counts.withoutBrowser > 0 &&
  counts.failed === 0 &&
  counts.skipped === 0 &&
  !(isBrowserRequired && counts.withoutBrowser > 0)
process.exitCode = isSame && all.every(isGood) ? 0 : 1
