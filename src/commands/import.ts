import { setFlagsFromString } from 'node:v8'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { isFull } from '../database/sqlite/driver.ts'
import { counted, describeCounts, printResult, UsageError } from './cli.ts'
import { MissingDatabaseError, withDatabase } from './database.ts'
import { applyFile } from './import/applyFile.ts'
import { type ChangeCounts, describeChanges } from './import/changes.ts'
import { type CheckedFile, checkFile } from './import/checkFile.ts'
import { ExternalIds } from './import/conflicts/externalIds.ts'
import { findConflicts } from './import/conflicts/findConflicts.ts'
import { OrderLines } from './import/conflicts/orderLines.ts'
import { findChanges } from './import/dryRun.ts'
import { type ImportInput, openInput } from './import/input.ts'
import { Problems } from './import/problems.ts'
import { csvFields } from './import/readCsv.ts'
import { readRecords } from './import/readRecords.ts'
import type { ReadOptions } from './import/records.ts'
import { rejectOtherFormats } from './import/rejectOtherFormats.ts'
import { committedLine } from './import/resume.ts'
import type { Call } from './interface/define.ts'
import { interruptible } from './interruption.ts'

type Options = {
  readonly format?: 'csv' | 'ndjson'
  readonly map?: readonly string[]
  readonly externalId?: string
  readonly dryRun?: boolean
  readonly skipBad?: boolean
  readonly report?: string
  readonly withKeys?: boolean
}

type RunOptions = Call<Options>['options'] & { readonly signal: AbortSignal }

/** Lines were left out. */
const skippedLinesCode = 3

export async function run({ env, options, args: [file] }: Call<Options>): Promise<void> {
  // Otherwise the process grows to 250 MB, mostly of garbage.
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=100')
  const read = readOptions(options, file)
  const input = await openInput(file)
  const problems = new Problems(options.report, file)
  const index = { externalIds: new ExternalIds(), orders: new OrderLines() }
  const work = async (signal: AbortSignal) => {
    await rejectOtherFormats(input, read)
    const checked = await checkFile(input, read, index, problems, signal)
    if (options.dryRun) await dryRun(env, input, checked, problems, { ...options, signal })
    else await importFile(env, input, checked, problems, { ...options, signal })
  }
  try {
    await interruptible(() => 'nothing was imported', work)
  } catch (error) {
    // Of the temporary files: for the database, it is a `DatabaseUnavailableError`.
    if (!isFull(error)) throw error
    const { message } = error as Error
    throw new Error(
      `The temporary files cannot be written (${message}): set TMPDIR to a folder with enough space.`,
    )
  } finally {
    index.externalIds.close()
    index.orders.close()
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
  { skipBad = false, json, signal }: RunOptions,
): Promise<void> {
  const rejectWrongLines = () => {
    if (problems.count > 0 && !skipBad) throw new Error(`${problems}\nNothing was imported.`)
  }
  // Before a database is created.
  rejectWrongLines()
  const work = async (database: Database, config: Config) => {
    const skippedLines = await findConflicts(database.read, checked, problems, signal)
    rejectWrongLines()
    return applyFile(database, input, checked, { config, skipBad, skippedLines, signal })
  }
  const counts = await withDatabase(env, work, { mayCreate: true })
  if (problems.count > 0) {
    console.error(`${problems}`)
    process.exitCode = skippedLinesCode
  }
  const result = { ...counts, ...(skipBad && { skipped: problems.count }) }
  printResult(json, result, summary(result))
}

async function dryRun(
  env: NodeJS.ProcessEnv,
  input: ImportInput,
  checked: CheckedFile,
  problems: Problems,
  { json: isJson, signal }: RunOptions,
): Promise<void> {
  const check = async (database?: Database) => {
    const skippedLines = await findConflicts(database?.read, checked, problems, signal)
    const resumedAfterLine = database ? await committedLine(database.read, checked.digest) : 0
    const isWanted = (line: number) => line > resumedAfterLine && !skippedLines.has(line)
    const batches = readRecords(input.open(), checked.options)
    return { changes: await findChanges(database?.read, batches, isWanted, signal), resumedAfterLine }
  }
  const { changes, resumedAfterLine } = await withDatabase(env, check, {
    noMigrationReason: 'a dry run does not migrate it',
  }).catch((error: unknown) => {
    if (error instanceof MissingDatabaseError) return check()
    throw error
  })
  if (problems.count > 0) {
    if (!isJson) console.error(`${problems}`)
    process.exitCode = 1
  }
  const { pets, categories, orders, keys } = changes
  const resumed = resumedAfterLine
    ? `The import would continue after line ${resumedAfterLine}, where it was interrupted. `
    : ''
  const others = `${describeTotal(categories, 'category', 'categories')}, ${describeTotal(orders, 'order')} and ${describeTotal(keys, 'key')}`
  const wrong = problems.count === 1 ? '1 line is wrong' : `${problems.count} lines are wrong`
  const sentence = `${resumed}This would add ${counted(pets.added, 'animal')}, change ${pets.changed} and leave ${pets.unchanged} unchanged. The file has ${others}. ${wrong}. Nothing was changed.`
  const { count: wrongLines, listed } = problems
  // `changes` has all numbers. The others are those of version 1.0.0.
  const result = {
    pets: { added: pets.added, updated: pets.changed, unchanged: pets.unchanged },
    categories: { added: categories.added, updated: categories.changed, unchanged: categories.unchanged },
    orders: totalOf(orders),
    keys: totalOf(keys),
    changes,
    ...(resumedAfterLine > 0 && { resumedAfterLine }),
  }
  printResult(isJson, { dryRun: true, ...result, wrongLines, problems: listed }, sentence)
}

const totalOf = ({ added, changed, unchanged }: ChangeCounts): number => added + changed + unchanged

const describeTotal = (counts: ChangeCounts, noun: string, plural?: string): string =>
  `${counted(totalOf(counts), noun, plural)} (${counts.added} added, ${counts.changed} changed)`

type Result = Awaited<ReturnType<typeof applyFile>> & { readonly skipped?: number }

function summary(result: Result): string {
  const { keysRenumbered, keysUnchanged, skipped, resumedAfterLine } = result
  const sentences = [
    resumedAfterLine && `Continued after line ${resumedAfterLine}, where the import was interrupted.`,
    `Imported ${describeCounts(result)}: ${describeChanges(result.changes)}.`,
    keysRenumbered && `${counted(keysRenumbered, 'key')} got a new id, because another key has the same id.`,
    keysUnchanged &&
      `${counted(keysUnchanged, 'key')} that can manage keys in this database stayed as before. See "petstore keys list".`,
    skipped && `Left out ${counted(skipped, 'wrong line')}.`,
  ]
  return sentences.filter(Boolean).join('\n')
}
