import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Instrumenter, type InstrumentResult } from '@stryker-mutator/instrumenter'
import type { Control, HostMessage, Job } from './messages.ts'
import { formatSurvivor, type Survivor } from './report.ts'
import type { Target } from './targets.ts'

const root = new URL('../', import.meta.url)
const host = new URL('host.ts', import.meta.url)
/** A mutant has made the tests hang if they take longer than this, and several times as long as without it. */
const mutantMinMs = 15_000
const slowdownMax = 5

const runFolder = mkdtempSync(join(tmpdir(), 'petstore-mutation-'))
process.once('exit', () => rmSync(runFolder, { recursive: true, force: true }))

const silent = () => {}
const logger = {
  ...{ trace: silent, debug: silent, info: silent, warn: silent, error: silent, fatal: silent },
  ...{ isTraceEnabled: () => false, isDebugEnabled: () => false, isInfoEnabled: () => false },
  ...{ isWarnEnabled: () => false, isErrorEnabled: () => false, isFatalEnabled: () => false },
}

/** Runs the tests of a file with each of its mutants. `log` gets the progress. */
export async function mutateFile({ file, tests }: Target, log: (line: string) => void) {
  const content = readFileSync(new URL(file, root), 'utf8')
  const options = { plugins: null, ignorers: [], excludedMutations: [] }
  const instrumented = await new Instrumenter(logger).instrument(
    [{ name: file, content, mutate: true }],
    options,
  )
  const { mutants } = instrumented
  log(`${file}: ${mutants.length} mutants`)
  const folder = mkdtempSync(join(runFolder, 'file-'))
  const source = join(folder, 'mutated.ts')
  writeFileSync(source, instrumented.files[0]?.content ?? '')
  const testUrls = tests.map((test) => new URL(test, root).href)
  const job = { url: new URL(file, root).href, source, tests: testUrls, mutants: [] }
  const startedAt = performance.now()
  const control = await findCoverage(folder, job)
  const boundMs = Math.max(mutantMinMs, (performance.now() - startedAt) * slowdownMax)
  const testsOf = (id: string) => testUrls.filter((test) => control.covered[test]?.includes(id))
  const survivors: Survivor[] = []
  const addSurvivor = (id: string) => {
    const mutant = mutants.find((each) => each.id === id) as Mutant
    const isCovered = control.staticMutants.includes(id) || testsOf(id).length > 0
    const survivor = { file, isCovered, ...describeMutant(mutant, content) }
    survivors.push(survivor)
    log(`not noticed: ${formatSurvivor(survivor)}`)
  }
  const known = { ...job, passed: control.passed }
  const runAlone = (staticMutant: string, urls: readonly string[]) =>
    run(folder, { ...known, tests: urls, staticMutant }, boundMs, addSurvivor)
  for (const id of control.staticMutants) await runAlone(id, testUrls)
  const dynamic = mutants.filter(({ id }) => !control.staticMutants.includes(id))
  const work = dynamic.map(({ id }) => ({ mutant: id, tests: testsOf(id) }))
  for (const { mutant } of work.filter((each) => each.tests.length === 0)) addSurvivor(mutant)
  /** Not noticed, but perhaps only because their code has run before. */
  const suspects: string[] = []
  const covered = work.filter((each) => each.tests.length > 0)
  await run(folder, { ...known, mutants: covered }, boundMs, (id) => suspects.push(id))
  for (const id of suspects) await runAlone(id, testsOf(id))
  return {
    total: mutants.length,
    survivors: survivors.sort((a, b) => a.line - b.line || a.column - b.column),
  }
}

type Mutant = InstrumentResult['mutants'][number]

function describeMutant({ location: { start, end }, mutatorName, replacement }: Mutant, content: string) {
  const line = content.split('\n')[start.line] ?? ''
  const original = line.slice(start.column, start.line === end.line ? end.column : undefined)
  return {
    ...{ line: start.line + 1, column: start.column + 1, code: line.trim(), mutator: mutatorName, original },
    replacement: replacement.replaceAll(/\s+/g, ' ').slice(0, 120),
  }
}

async function findCoverage(folder: string, job: Job): Promise<Control> {
  const { child, ended } = start(folder, job)
  const control = await new Promise<Control | undefined>((resolve) => {
    child.on('message', (message: HostMessage) => message.kind === 'control' && resolve(message))
    void ended.then(() => resolve(undefined))
  })
  if (!control || Object.values(control.passed).includes(0))
    throw new Error('The tests fail without a mutant.')
  return control
}

/** Runs the mutants of a job, in one process unless one of them ends it. */
async function run(folder: string, job: Job, boundMs: number, onSurvivor: (mutant: string) => void) {
  let waiting = job.mutants
  let isEnded = waiting.length === 0 && job.staticMutant === undefined
  while (!isEnded) {
    const left = waiting.length
    const { child, ended } = start(folder, { ...job, mutants: waiting })
    const kill = () => child.kill('SIGKILL')
    let timer = setTimeout(kill, boundMs)
    child.on('message', (message: HostMessage) => {
      clearTimeout(timer)
      timer = setTimeout(kill, boundMs)
      // A mutant that ends the process has been noticed too, so it is not repeated.
      if (message.kind === 'start') waiting = waiting.filter(({ mutant }) => mutant !== message.mutant)
      if (message.kind === 'result' && message.by === undefined) onSurvivor(message.mutant)
      if (message.kind !== 'end') return
      isEnded = true
      if (!message.isSame) console.error(`${job.url}: after the mutants, other tests pass without one.`)
    })
    await ended
    clearTimeout(timer)
    if (!isEnded && waiting.length === left && left > 0)
      throw new Error(`${job.url}: the process of the tests ended before its first mutant.`)
    if (waiting.length === 0) isEnded = true
  }
}

function start(folder: string, job: Job): { child: ChildProcess; ended: Promise<void> } {
  const file = join(folder, 'job.json')
  writeFileSync(file, JSON.stringify(job))
  const child = fork(host, [file], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  return { child, ended: new Promise((resolve) => child.once('close', () => resolve())) }
}
