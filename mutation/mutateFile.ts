import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Instrumenter } from '@stryker-mutator/instrumenter'
import type { Control, HostMessage, Job } from './messages.ts'
import type { Target } from './targets.ts'

export type Survivor = {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly mutator: string
  readonly original: string
  readonly replacement: string
  readonly isCovered: boolean
}

const root = new URL('../', import.meta.url)
const host = new URL('host.ts', import.meta.url)
/** A mutant that takes longer than this, and several times as long as the tests without it, has made them hang. */
const mutantMinMs = 15_000
const slowdownMax = 5

const silent = () => {}
const logger = {
  ...{ trace: silent, debug: silent, info: silent, warn: silent, error: silent, fatal: silent },
  ...{ isTraceEnabled: () => false, isDebugEnabled: () => false, isInfoEnabled: () => false },
  ...{ isWarnEnabled: () => false, isErrorEnabled: () => false, isFatalEnabled: () => false },
}

export async function mutateFile({ file, tests, excluded = [] }: Target) {
  const content = readFileSync(new URL(file, root), 'utf8')
  const instrumented = await new Instrumenter(logger).instrument([{ name: file, content, mutate: true }], {
    ...{ plugins: null, ignorers: [], excludedMutations: [...excluded] },
  })
  const { files } = instrumented
  // Those of excluded mutators are listed, but not in the source.
  const mutants = instrumented.mutants.filter(({ status }) => status !== 'Ignored')
  const folder = mkdtempSync(join(tmpdir(), 'petstore-mutation-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const source = join(folder, 'mutated.ts')
  writeFileSync(source, files[0]?.content ?? '')
  const testUrls = tests.map((test) => new URL(test, root).href)
  const job = { url: new URL(file, root).href, source, tests: testUrls, mutants: [] }
  const startedAt = performance.now()
  const control = await findCoverage(folder, job)
  const boundMs = Math.max(mutantMinMs, (performance.now() - startedAt) * slowdownMax)
  const ids = mutants.map(({ id }) => id)
  const testsOf = (id: string) => testUrls.filter((test) => control.covered[test]?.includes(id))
  const isStatic = new Set(control.isStatic)
  const hasSurvived = new Set(ids.filter((id) => !isStatic.has(id) && testsOf(id).length === 0))
  const isCovered = (id: string) => !hasSurvived.has(id)
  const uncovered = new Set(hasSurvived)
  for (const id of ids.filter((each) => isStatic.has(each)))
    for (const survivor of await run(folder, { ...job, passed: control.passed, staticMutant: id }, boundMs))
      hasSurvived.add(survivor)
  const dynamic = ids.filter((id) => !isStatic.has(id) && isCovered(id))
  const work = dynamic.map((mutant) => ({ mutant, tests: testsOf(mutant) }))
  for (const id of await run(folder, { ...job, passed: control.passed, mutants: work }, boundMs))
    hasSurvived.add(id)
  const lines = content.split('\n')
  const survivors = mutants
    .filter(({ id }) => hasSurvived.has(id))
    .map(({ id, location: { start, end }, mutatorName: mutator, replacement }): Survivor => {
      const original = (lines[start.line] ?? '').slice(
        start.column,
        start.line === end.line ? end.column : undefined,
      )
      const place = { file, line: start.line + 1, column: start.column + 1 }
      return { ...place, mutator, original, replacement: oneLine(replacement), isCovered: !uncovered.has(id) }
    })
  return { total: ids.length, survivors }
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 120)

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

/** Runs the mutants of a job, in one process unless one of them ends it. Resolves to those that no test has noticed. */
async function run(folder: string, job: Job, boundMs: number): Promise<string[]> {
  let waiting = job.mutants
  const survivors: string[] = []
  let isEnded = waiting.length === 0 && job.staticMutant === undefined
  while (!isEnded) {
    const { child, ended } = start(folder, { ...job, mutants: waiting })
    const kill = () => child.kill('SIGKILL')
    let timer = setTimeout(kill, boundMs)
    child.on('message', (message: HostMessage) => {
      clearTimeout(timer)
      timer = setTimeout(kill, boundMs)
      // A mutant that ends the process has been noticed too, so it is not repeated.
      if (message.kind === 'start') waiting = waiting.filter(({ mutant }) => mutant !== message.mutant)
      if (message.kind === 'result' && message.by === undefined) survivors.push(message.mutant)
      if (message.kind !== 'end') return
      isEnded = true
      if (!message.isSame) console.error(`${job.url}: after the mutants, other tests pass without one.`)
    })
    await ended
    clearTimeout(timer)
    if (waiting.length === 0) isEnded = true
  }
  return survivors
}

function start(folder: string, job: Job): { child: ChildProcess; ended: Promise<void> } {
  const file = join(folder, 'job.json')
  writeFileSync(file, JSON.stringify(job))
  const child = fork(host, [file], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  return { child, ended: new Promise((resolve) => child.once('close', () => resolve())) }
}
