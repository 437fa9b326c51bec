/**
 * Runs the tests.
 *
 *     node test/run.ts                                        all but the slow ones
 *     node test/run.ts --slow                                 the slow ones: files that end with .slow.test.ts
 *     node test/run.ts --engine postgres                      what runs on one engine: sqlite or postgres
 *     node test/run.ts --engine postgres test/store/pets.test.ts    one file on one engine
 *     node test/run.ts test/store/pets.test.ts --name paging  the tests of a file with "paging" in their name
 *     node test/run.ts --record                               also writes the time of each file to test/times.json
 *     node test/run.ts --diagnostics                          also prints what the tests report
 *     node test/run.ts --runtime bun                          tests over HTTP, with the service on Bun
 *
 * The folder of a file decides on which engine it runs:
 *
 *     test/contract/   the sources and documents fit together: once
 *     test/plain/      functions and classes without a database: once
 *     test/http/       what a service does the same on both engines: once, on SQLite
 *     test/commands/   what a command does the same on both engines: once, on SQLite
 *     test/browser/    the console and the pages in a browser: once, on SQLite
 *     test/client/     the client for TypeScript and its package: once, on SQLite
 *     test/store/      what depends on the database: on SQLite and on PostgreSQL
 *     test/sqlite/     about SQLite and its files: on SQLite
 *     test/postgres/   about PostgreSQL: on PostgreSQL, a real server that is started here and removed after
 *
 * test/failover/ does not run here, but with `npm run test:failover`: it needs HAProxy. test/edge/ runs with
 * `npm run test:edge`: it needs Caddy and HAProxy. test/generated-clients/ runs with `npm run test:clients`, which installs the
 * generators, and test/packages/ with `npm run test:packages`.
 *
 * A skipped test and a PostgreSQL that does not start are failures. One exception: on a machine without a
 * browser the tests that need one are skipped and reported. With PETSTORE_TEST_REQUIRE_BROWSER=true they fail the run.
 */
import { globSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve, sep } from 'node:path'
import { run } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bunUnsupported } from './bunUnsupported.ts'
import { ensureClientTypes, ensureConsoleBuilt } from './support/consoleBuild.ts'
import { findBrowser, installHint, noBrowserReason } from './support/findBrowser.ts'
import { findBun } from './support/findBun.ts'
import { startPostgres } from './support/postgres.ts'
import { bundleProgram } from './support/programBundle.ts'
import { writePrograms } from './support/programs.ts'
import { collectResults, noResults, type Results } from './support/testResults.ts'
import { recordTimes, timeOf } from './support/times.ts'

type Engine = 'sqlite' | 'postgres'

const startedAt = performance.now()
const root = fileURLToPath(new URL('../', import.meta.url))
const slowestShown = 8
const differingShown = 20
/** A process of tests that hangs fails; on a busy machine they take minutes. */
const processTimeoutMs = 1_200_000
const engines: Record<Engine, { name: string; folders: readonly string[] }> = {
  sqlite: {
    name: 'SQLite',
    folders: ['contract', 'plain', 'http', 'commands', 'browser', 'client', 'store', 'sqlite'],
  },
  postgres: { name: 'PostgreSQL', folders: ['store', 'postgres'] },
}
const isBrowserRequired = process.env.PETSTORE_TEST_REQUIRE_BROWSER === 'true'

const { values, positionals } = parseArgs({
  options: {
    diagnostics: { type: 'boolean', default: false },
    engine: { type: 'string' },
    name: { type: 'string' },
    record: { type: 'boolean', default: false },
    runtime: { type: 'string', default: 'node' },
    slow: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
/** Processes of tests at the same time, over both engines. Some wait at any time; slow ones need more of the processor. */
const concurrency = values.slow ? 3 : 5
const chosen = (Object.keys(engines) as Engine[]).filter(
  (engine) => values.engine === undefined || values.engine === engine,
)
if (chosen.length === 0) throw new Error(`--engine must be sqlite or postgres, but is "${values.engine}".`)
if (!['node', 'bun'].includes(values.runtime))
  throw new Error(`--runtime must be node or bun, but is "${values.runtime}".`)
const bunPath = values.runtime === 'bun' ? findBun(root) : undefined
/** A test of these folders that uses one of these helpers talks HTTP to a service of the chosen runtime. */
const httpFolders = ['contract', 'http', 'browser', 'store']
const httpHelpers = /\b(?:useService|useCheckedCalls|startTestService|stageWebhooks|useConsole)\(/
/** The name of a test begins with the path of its file, which must not match. */
const namePattern = values.name !== undefined && new RegExp(`^\\S+ .*(?:${values.name})`)
const skipPatterns = bunUnsupported.flatMap(({ file, tests }) =>
  tests.map((name) => new RegExp(`^${RegExp.escape(file)} (?:.* )?${RegExp.escape(name)}$`)),
)

/** The files of an engine: the slow ones, the others, or those that the command line names. */
function filesOf(engine: Engine): string[] {
  const named = positionals.map((path) => resolve(path))
  const folders = engines[engine].folders.filter((folder) => !bunPath || httpFolders.includes(folder))
  return folders
    .flatMap((folder) => globSync(join(root, 'test', folder, '**/*.test.ts')))
    .filter((file) => named.includes(file) || file.endsWith('.slow.test.ts') === values.slow)
    .filter((file) => named.length === 0 || named.some((path) => !relative(path, file).startsWith('..')))
    .filter((file) => !bunPath || httpHelpers.test(readFileSync(file, 'utf8')))
    .sort()
}

const plan = chosen
  .map((engine) => ({ engine, files: filesOf(engine) }))
  .filter(({ files }) => files.length > 0)
if (plan.length === 0) throw new Error('There is no such test.')
const progress = { done: 0, total: plan.reduce((sum, { files }) => sum + files.length, 0) }
const isPlanned = (...folders: string[]) =>
  plan.some(({ files }) =>
    files.some((file) => folders.includes(relative(root, file).split(sep)[1] as string)),
  )
/** The tests of these folders start no program and use no browser. */
const needsProgram = isPlanned('http', 'commands', 'browser', 'client', 'store', 'sqlite', 'postgres')

/**
 * Databases of tests are short-lived, so they are in memory if there is space: on PostgreSQL, creating one takes a fifth
 * of the CPU time. The most in use at once was 230 MB. A TMPDIR that is set is kept.
 */
const memoryFolder = '/dev/shm'
const memoryFolderMinBytes = 2 * 2 ** 30
function hasMemoryFolder(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder)
    return bavail * bsize >= memoryFolderMinBytes
  } catch {
    return false
  }
}
if (process.env.TMPDIR === undefined && hasMemoryFolder()) process.env.TMPDIR = memoryFolder

/** Has the programs that run the tests and, unless the environment names one, the compile cache of all processes. */
const folder = mkdtempSync(join(tmpdir(), 'petstore-run-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => interrupted.abort())

/** The programs that run the files of an engine. */
function programsOf(engine: Engine, files: string[]): { engine: Engine; program: string }[] {
  const timed = files.map((file) => ({ file, seconds: timeOf(engine, relative(root, file)) }))
  const programs = writePrograms(join(folder, engine), root, timed, concurrency)
  return programs.map((program) => ({ engine, program }))
}

/** One browser for all files. Loads Playwright, which a run without a browser does not need. */
async function startBrowser() {
  const { launchBrowserServer } = await import('./support/browser.ts')
  return launchBrowserServer()
}

async function runProgram(engine: Engine, program: string, adminUrl: string | undefined): Promise<void> {
  const tests = run({
    files: [program],
    timeout: processTimeoutMs,
    ...(bunPath && { testSkipPatterns: skipPatterns }),
    ...(namePattern && { testNamePatterns: [namePattern] }),
    signal: interrupted.signal,
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(folder, 'compiled'),
      PETSTORE_TEST_ENGINE: engine,
      ...(petstore !== undefined && { PETSTORE_TEST_PROGRAM: petstore }),
      ...(browser && { PETSTORE_TEST_BROWSER_SERVER: browser.address }),
      ...(bunPath && { PETSTORE_TEST_BUN: bunPath }),
      ...(engine === 'postgres' && { PETSTORE_TEST_POSTGRES_URL: adminUrl }),
    },
  })
  if (values.diagnostics) {
    const label = engines[engine].name
    // Those of the program itself are its counts.
    tests.on(
      'test:diagnostic',
      ({ nesting, message }) => nesting > 0 && console.log(`ℹ ${label}: ${message}`),
    )
  }
  await collectResults(tests, root, program, engines[engine].name, progress, results.get(engine) as Results)
}

const results = new Map<Engine, Results>(plan.map(({ engine }) => [engine, noResults()]))
/** PostgreSQL first: its tests take the longest. */
const programs = plan.toReversed().flatMap(({ engine, files }) => programsOf(engine, files))
// Before the tests: several processes would build it at the same time.
if (needsProgram) ensureConsoleBuilt()
ensureClientTypes()
const petstore = needsProgram ? await bundleProgram() : undefined
const postgres = plan.some(({ engine }) => engine === 'postgres') ? await startPostgres() : undefined
const browser = isPlanned('browser') && findBrowser() ? await startBrowser() : undefined
try {
  if (postgres) {
    // Loads the service, which a run on SQLite does not need here.
    const { prepareTemplate } = await import('./support/engine.ts')
    await prepareTemplate(postgres.adminUrl)
  }
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let next = programs.shift(); next; next = programs.shift())
        await runProgram(next.engine, next.program, postgres?.adminUrl)
    }),
  )
} finally {
  await browser?.close()
  await postgres?.stop()
}

const all = [...results.values()]
const slowest = all.flatMap(({ files }) => files).sort((a, b) => b.seconds - a.seconds)
if (slowest.length > slowestShown) {
  console.log('\nThe slowest files:')
  for (const { file, seconds } of slowest.slice(0, slowestShown))
    console.log(`${String(Math.round(seconds)).padStart(5)} s  ${file}`)
}
console.log('')
for (const [engine, { name }] of Object.entries(engines)) {
  const found = results.get(engine as Engine)
  console.log(
    found
      ? `${name.padEnd(12)}${found.passed} passed, ${found.failed} failed, ${found.skipped} skipped`
      : `${name.padEnd(12)}did not run`,
  )
}
/** Tests in test/store that did not pass on every engine that ran. */
const differing = [...new Set(all.flatMap(({ passedInStore }) => passedInStore))].filter((name) =>
  all.some(({ passedInStore }) => !passedInStore.includes(name)),
)
const isSame = differing.length === 0
if (!isSame) console.log(`\nNot passed on both engines:\n${differing.slice(0, differingShown).join('\n')}`)
const withoutBrowser = all.reduce((sum, found) => sum + found.withoutBrowser, 0)
if (withoutBrowser > 0) {
  console.log(`\n${withoutBrowser} browser tests were skipped. ${noBrowserReason} ${installHint}`)
  if (isBrowserRequired) console.log('PETSTORE_TEST_REQUIRE_BROWSER is set, so this is a failure.')
}
const isGood = (found: Results) =>
  found.passed + found.withoutBrowser > 0 &&
  found.failed === 0 &&
  found.skipped === 0 &&
  !(isBrowserRequired && found.withoutBrowser > 0)
const isComplete = Boolean(namePattern) || progress.done === progress.total
if (!isComplete) console.log(`\nOnly ${progress.done} of ${progress.total} files have ended.`)
const hasPassed = isSame && isComplete && all.every(isGood)
const seconds = Math.round((performance.now() - startedAt) / 1000)
console.log(`\n${hasPassed ? 'Passed' : 'Failed'} in ${Math.floor(seconds / 60)} min ${seconds % 60} s.`)
if (values.record && hasPassed) for (const [engine, { files }] of results) recordTimes(engine, files)
process.exitCode = hasPassed ? 0 : 1
