import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Verdict } from './verdict.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')

/** The verdicts as a Markdown table, with the explanations below it. */
export function formatTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(
    ({ promise, method, figures, isHeld }) =>
      `| ${[promise, method, figures, isHeld ? 'held' : '**not held**'].map(cell).join(' | ')} |`,
  )
  const explained = verdicts.filter(({ explanation }) => explanation !== undefined)
  const notes = explained.map(({ promise, explanation }) => `- ${cell(promise)}: ${cell(explanation ?? '')}`)
  const table = ['| promise | how it was tested | figures | |', '| --- | --- | --- | --- |', ...rows].join(
    '\n',
  )
  return notes.length === 0 ? table : `${table}\n\n${notes.join('\n')}`
}

/** Date, commit, machine and seed in one paragraph. */
function describeRun(seed: number): string {
  const date = new Date().toISOString().slice(0, 10)
  return `${date}, commit ${describeCommit()}, seed ${seed}. ${describeMachine()}.`
}

export function describeMachine(): string {
  const all = cpus()
  const system = process.platform === 'linux' ? `Linux ${release()}` : `${process.platform} ${release()}`
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB of memory`
  return `${all.length} cores (${all[0]?.model.trim()}, ${process.arch}), ${memory}, ${system}, Node ${process.versions.node}`
}

export function describeCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  try {
    const isChanged = git('status', '--porcelain', '--untracked-files=no') !== ''
    return `${git('rev-parse', '--short=12', 'HEAD')}${isChanged ? ' with local changes' : ''}`
  } catch {
    return 'unknown'
  }
}

/** Writes the results of these checks. The document keeps the results that others had in earlier runs. */
export function writeDocument(
  dir: string,
  verdicts: readonly Verdict[],
  seed: number,
  checkNames: readonly string[],
): void {
  const file = join(dir, 'reliability.md')
  const earlier = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const run = describeRun(seed)
  const results = Map.groupBy(verdicts, ({ check = '' }) => check)
  const sections = [...results].map(([name, rows]) => [name, `${run}\n\n${formatTable(rows)}\n`] as const)
  writeFileSync(file, updateDocument(earlier, new Map(sections), checkNames))
}

/** A section for each check, in this order: the new one, or that of the document. */
export function updateDocument(
  document: string,
  sections: ReadonlyMap<string, string>,
  checkNames: readonly string[],
): string {
  const earlier = document.split(/^## /m).map((text) => text.split(/\n\n(.*)/s))
  const all = new Map([...earlier.map(([name, text]) => [name, text] as const), ...sections])
  const written = checkNames.filter((name) => all.has(name))
  return [introduction, ...written.map((name) => `## ${name}\n\n${all.get(name)?.trimEnd()}\n`)].join('\n')
}

const introduction = `# Reliability

What the service promises, and how it was tested. \`npm run reliability -- --out docs\` writes this page, in up to 60 minutes. Each section is one check, with the name that \`--only\` takes, and says when and with which commit it ran. Later changes are in the [changelog](../CHANGELOG.md).

- Each row is one promise. It is *held* if no violation was found, or if the figure is within the bound that the row names. Otherwise the text below the table says why, if the figures do not.
- A test cannot show that a promise is never broken. The figures show how much was tested.
- The seed determines the random choices of a run, but not their timing. A second run with the same seed can behave differently.
- Everything ran on one machine, with the load on the same cores. The figures are for comparison with other runs. They do not say what your machine can serve ([Performance](performance.md)).
- *overload*: the capacity is what 64 callers get that wait for their responses, measured before each round. The peak is the most that was served to callers that do not wait. The promise is for the mix of requests that the row names. At several times the capacity in cached reads alone, rejections take most of the processor: limit the rate in the reverse proxy ([Overload](guides/running.md#overload)).
- *slowCallers*: the 99th percentile (p99) of a caller is compared with its p99 without the slow callers. Below 10 ms, timers and the scheduler determine it.
- *histories*: all requests of concurrent callers with their times and outcomes. An outcome is *known* (the response says what happened), *failed* (there was no effect) or *unknown* (the connection was lost, or the response says that it is unknown). A checker that knows only the interface compares them with the promises ([decision 58](decisions/0058-checked-histories.md)).
- *crashes*: processes are killed, not the machine. The databases are in memory (\`/dev/shm\`) if it has space, and PostgreSQL runs with \`fsync=off\`. So these rows show that no confirmed change is lost when a process ends. On SQLite, the row about disks, in which syncs fail or hang, shows that a change is on disk before the response. On PostgreSQL, this is not tested here.

Not tested here: slow callers on PostgreSQL (\`--engine postgres --only slowCallers\` does), loss of power, networks between machines, network file systems, asynchronous standbys, databases of more than a few thousand animals, macOS, Bun, containers and packages. The histories do not check event streams, webhooks, rate limits, changes of categories, or holds that expire. Other tests do. PostgreSQL is the version that \`npm ci\` installs, with a synchronous standby in *histories*.
`
