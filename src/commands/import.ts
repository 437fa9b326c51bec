import { setFlagsFromString } from 'node:v8'
import type { Database } from '../database/database.ts'
import { printResult, UsageError } from './cli.ts'
import { MissingDatabaseError, withDatabase } from './database.ts'
import { applyFile } from './import/applyFile.ts'
import type { ReadOptions } from './import/batch.ts'
import { type CheckedFile, checkFile } from './import/checkFile.ts'
import { findChanges } from './import/dryRun.ts'
import { ExternalIds } from './import/externalIds.ts'
import { findConflicts } from './import/findConflicts.ts'
import { type ImportInput, openInput } from './import/input.ts'
import { Problems } from './import/problems.ts'
import { csvFields } from './import/readCsv.ts'
import { readRecords } from './import/readRecords.ts'
import type { Call } from './interface/define.ts'

type Options = {
  readonly format?: 'csv' | 'ndjson'
  readonly map?: readonly string[]
  readonly externalId?: string
  readonly dryRun?: boolean
  readonly skipBad?: boolean
  readonly report?: string
  readonly withKeys?: boolean
}

/** Lines were left out. */
const skippedLinesCode = 3

export async function run({ env, options, args: [file] }: Call<Options>): Promise<void> {
  // Otherwise the process grows to 250 MB, mostly of garbage.
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=100')
  const read = readOptions(options, file)
  const input = await openInput(file)
  const problems = new Problems(options.report, file)
  const externalIds = new ExternalIds()
  try {
    const checked = await checkFile(input, read, externalIds, problems)
    if (options.dryRun) await dryRun(env, input, checked, problems, options.json)
    else await importFile(env, input, checked, problems, options)
  } finally {
    externalIds.close()
    problems.close()
    input.close()
  }
}

function readOptions({ format, map = [], externalId, withKeys = false }: Options, file = ''): ReadOptions {
  const detected = format ?? (/\.(?:csv|tsv)$/i.test(file) ? 'csv' : 'ndjson')
  if (map.length > 0 && detected !== 'csv') throw new UsageError('--map is for CSV only.')
  const entries = map.map((entry) => {
    const at = entry.lastIndexOf('=')
    const [header, field] = [entry.slice(0, at), entry.slice(at + 1)]
    if (at < 1 || !csvFields.some((name) => name === field))
      throw new UsageError(
        `--map must be HEADER=FIELD with one of the fields ${csvFields.join(', ')}, but is "${entry}".`,
      )
    return [header, field] as const
  })
  return { format: detected, withKeys, map: new Map(entries), externalId }
}

async function importFile(
  env: NodeJS.ProcessEnv,
  input: ImportInput,
  checked: CheckedFile,
  problems: Problems,
  { skipBad: skipsBad = false, json }: Call<Options>['options'],
): Promise<void> {
  const reject = () => {
    if (problems.count > 0 && !skipsBad) throw new Error(`${problems}\nNothing was imported.`)
  }
  // Before a database is created.
  reject()
  const work = async (database: Database) => {
    const skippedLines = await findConflicts(database.read, checked, problems)
    reject()
    return applyFile(database, input, checked, { skipsBad, skippedLines })
  }
  const counts = await withDatabase(env, work, { mayCreate: true })
  if (problems.count > 0) {
    console.error(`${problems}`)
    process.exitCode = skippedLinesCode
  }
  const result = { ...counts, ...(skipsBad && { skipped: problems.count }) }
  printResult(json, result, summary(result))
}

async function dryRun(
  env: NodeJS.ProcessEnv,
  input: ImportInput,
  checked: CheckedFile,
  problems: Problems,
  isJson: boolean | undefined,
): Promise<void> {
  const check = async (database?: Database) => {
    const skippedLines = await findConflicts(database?.read, checked, problems)
    return findChanges(database?.read, readRecords(input.open(), checked.options), skippedLines)
  }
  const changes = await withDatabase(env, check, { isReadOnly: true }).catch((error: unknown) => {
    if (error instanceof MissingDatabaseError) return check()
    throw error
  })
  if (problems.count > 0) {
    if (!isJson) console.error(`${problems}`)
    process.exitCode = 1
  }
  const { pets, categories, orders, keys } = changes
  const sentence = `This would add ${pets.added} animals, update ${pets.updated} and leave ${pets.unchanged} unchanged. It has ${categories.added + categories.updated + categories.unchanged} categories (${categories.added} new, ${categories.updated} changed), ${orders} orders and ${keys} keys. ${problems.count} lines are wrong. Nothing was changed.`
  const { count: wrongLines, listed } = problems
  printResult(isJson, { dryRun: true, ...changes, wrongLines, problems: listed }, sentence)
}

type Result = Awaited<ReturnType<typeof applyFile>> & { readonly skipped?: number }

function summary(result: Result): string {
  const { pets, categories, orders, keys, keysRenumbered, keysUnchanged } = result
  const { skipped, resumedAfterLine } = result
  const sentences = [
    resumedAfterLine && `Continued after line ${resumedAfterLine}, where the import was interrupted.`,
    `Imported ${pets} animals, ${categories} categories, ${orders} orders and ${keys} keys.`,
    keysRenumbered && `${keysRenumbered} keys got a new id, because another key has their id.`,
    keysUnchanged &&
      `${keysUnchanged} keys can manage keys in this database and were not changed. See "petstore keys list".`,
    skipped && `Left out ${skipped} wrong lines.`,
  ]
  return sentences.filter(Boolean).join('\n')
}
