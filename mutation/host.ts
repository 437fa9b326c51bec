/**
 * Runs the tests of one mutated file, in a process of its own: first without a mutant, then with each of the mutants. The
 * instrumented source contains all mutants, and a variable selects one, so the modules load once.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { after, afterEach, before, beforeEach, suite } from 'node:test'
import fc from 'fast-check'
import type { HostMessage, Job } from './messages.ts'

type Coverage = { static: Record<string, number>; perTest: Record<string, Record<string, number>> }
type Stryker = { activeMutant?: string; currentTestId?: string; mutantCoverage?: Coverage }

// Without a search for the smallest example that fails, which takes time.
fc.configureGlobal({ endOnFailure: true })
const job: Job = JSON.parse(readFileSync(process.argv[2] as string, 'utf8'))
const coverage: Coverage = { static: {}, perTest: {} }
// The instrumented source reads this object.
const stryker: Stryker = { mutantCoverage: coverage }
Object.assign(globalThis, { __stryker__: stryker })
if (job.staticMutant !== undefined) stryker.activeMutant = job.staticMutant
registerHooks({
  load: (url, context, next) =>
    url === job.url
      ? { format: 'module-typescript', source: readFileSync(job.source, 'utf8'), shortCircuit: true }
      : next(url, context),
})
const report = (message: HostMessage) => process.send?.(message)
const passedWithout = new Map<string, number>()
let loads = 0

/** Runs a file of tests. Resolves to the number of tests that have passed; after the first failure no other one runs. */
async function runTests(file: string, mutant: string | undefined): Promise<number> {
  let passed = 0
  let hasFailed = false
  await suite(`${mutant ?? 'no mutant'}: ${file}`, () => {
    before(() => {
      stryker.currentTestId = file
      if (mutant !== undefined) stryker.activeMutant = mutant
    })
    beforeEach(() => {
      if (hasFailed) throw new Error('An earlier test has failed.')
    })
    afterEach((t) => {
      if ((t as { passed?: boolean }).passed) passed++
      else hasFailed = true
    })
    after(() => {
      delete stryker.currentTestId
      if (job.staticMutant === undefined) delete stryker.activeMutant
    })
    // The query makes it a new module, so its tests are added again.
    return import(`${file}?load=${loads++}`)
  })
  return passed
}

/** The first file of tests that notices the mutant. */
async function noticedBy(mutant: string | undefined, files: readonly string[]): Promise<string | undefined> {
  for (const file of files) if ((await runTests(file, mutant)) !== job.passed?.[file]) return file
  return undefined
}

if (job.passed === undefined) {
  for (const file of job.tests) passedWithout.set(file, await runTests(file, undefined))
  const covered = Object.entries(coverage.perTest).map(([file, counts]) => [file, Object.keys(counts)])
  const staticMutants = Object.keys(coverage.static)
  report({
    kind: 'control',
    passed: Object.fromEntries(passedWithout),
    staticMutants,
    covered: Object.fromEntries(covered),
  })
} else {
  if (job.staticMutant !== undefined)
    report({ kind: 'result', mutant: job.staticMutant, by: await noticedBy(undefined, job.tests) })
  // First without a mutant, so that what is made once, such as the text of a prepared statement, contains none.
  else await noticedBy(undefined, job.tests)
  for (const { mutant, tests } of job.mutants) {
    report({ kind: 'start', mutant })
    report({ kind: 'result', mutant, by: await noticedBy(mutant, tests) })
  }
  const isSame = job.staticMutant !== undefined || (await noticedBy(undefined, job.tests)) === undefined
  report({ kind: 'end', isSame })
}
process.exit()
