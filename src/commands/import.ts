import { setFlagsFromString } from 'node:v8'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Db } from '../database/db.ts'
import { petCsvFields } from '../pets/record.ts'
import { addCounts, noCounts } from '../records/resource.ts'
import { explainTemporary } from '../records/temporaryDatabase.ts'
import { countedResources, defaultResource } from '../resources.ts'
import { counted, printResult, UsageError } from './cli.ts'
import { byResource, describeCounts, listOf, totalOf } from './counts.ts'
import { MissingDatabaseError, withDatabase } from './database.ts'
import { applyFile } from './import/applyFile.ts'
import type { KindCounts } from './import/applyRecords.ts'
import { type CheckedFile, checkFile, FileConflicts } from './import/checkFile.ts'
import { findChanges } from './import/dryRun.ts'
import { type ImportInput, openInput, rejectOtherFormats } from './import/input.ts'
import { Problems } from './import/problems.ts'
import { readRecords } from './import/readRecords.ts'
import type { ReadOptions } from './import/records.ts'
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

/** Lines were left out. */
const skippedLinesCode = 3

export async function run({ env, options, args: [file] }: Call<Options>): Promise<void> {
  // Otherwise the process grows to 250 MB, mostly of garbage.
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=100')
  const read = readOptions(options, file)
  await using opened = new AsyncDisposableStack()
  const input = opened.adopt(await openInput(file), (each) => each.close())
  const problems = opened.adopt(new Problems(options.report, file), (each) => each.close())
  const conflicts = opened.adopt(new FileConflicts(), (each) => each.close())
  const work = async (signal: AbortSignal) => {
    await rejectOtherFormats(input, read)
    const checked = await checkFile(input, read, conflicts, problems, signal)
    const findConflicts = (db?: Db) => conflicts.find(db, checked.digest, problems, signal)
    const importCommand = options.dryRun ? dryRun : importFile
    await importCommand(env, { ...checked, input, problems, findConflicts, signal }, options)
  }
  try {
    await interruptible(() => 'nothing was imported', work)
  } catch (error) {
    // A full disk of the database is a `DatabaseUnavailableError`, so this one is of a temporary file.
    throw explainTemporary(error, 'temporary files')
  }
}

function readOptions({ format, map = [], externalId, withKeys = false }: Options, file = ''): ReadOptions {
  const detected = format ?? (/\.(?:csv|tsv)$/i.test(file) ? 'csv' : 'ndjson')
  if (map.length > 0 && detected !== 'csv') throw new UsageError('--map is for CSV only.')
  const entries = map.map((entry) => {
    const at = entry.lastIndexOf('=')
    const [header, field] = [entry.slice(0, at), entry.slice(at + 1)]
    if (at < 1 || !petCsvFields.some((name) => name === field))
      throw new UsageError(
        `--map must be HEADER=FIELD with one of the fields ${petCsvFields.join(', ')}, but is "${entry}".`,
      )
    return [header, field] as const
  })
  return { format: detected, withKeys, map: new Map(entries), externalId }
}

type File = CheckedFile & {
  readonly input: ImportInput
  readonly problems: Problems
  readonly signal: AbortSignal
  /** The lines that are left out. Without a database, nothing is stored. */
  findConflicts(db?: Db): Promise<ReadonlySet<number>>
}

async function importFile(
  env: NodeJS.ProcessEnv,
  file: File,
  { skipBad = false, json }: Call<Options>['options'],
): Promise<void> {
  const { problems, options, signal } = file
  const rejectWrongLines = () => {
    if (problems.count > 0 && !skipBad) throw new Error(`${problems}\nNothing was imported.`)
  }
  // Before a database is created.
  rejectWrongLines()
  const work = async (database: Database, config: Config) => {
    const skippedLines = await file.findConflicts(database.read)
    rejectWrongLines()
    return applyFile(database, file.input, file, { config, skipBad, skippedLines, signal })
  }
  const { counts, resumedAfterLine } = await withDatabase(env, work, { mayCreate: true })
  if (problems.count > 0) {
    console.error(`${problems}`)
    process.exitCode = skippedLinesCode
  }
  const changes = changesOf(counts)
  const totals = byResource(({ countName }) => totalOf(changes[countName]))
  const remarks = countedResources.flatMap((resource) => {
    if (resource.requiresWithKeys && !options.withKeys) return []
    return Object.entries(resource.remarks ?? {}).map(([name, describe]) => {
      const count = counts.get(resource)?.[name] ?? 0
      return { name, count, sentence: count > 0 && describe(counted(count, ...resource.nouns)) }
    })
  })
  const result = {
    ...totals,
    changes,
    ...Object.fromEntries(remarks.map(({ name, count }) => [name, count])),
    ...(resumedAfterLine > 0 && { resumedAfterLine }),
    ...(skipBad && { skipped: problems.count }),
  }
  const all = noCounts()
  for (const each of Object.values(changes)) addCounts(all, each)
  const sentences = [
    resumedAfterLine > 0 && `Continued after line ${resumedAfterLine}, where the import was interrupted.`,
    `Imported ${describeCounts(totals)}: ${all.added} added, ${all.changed} changed, ${all.unchanged} unchanged.`,
    ...remarks.map(({ sentence }) => sentence),
    skipBad && problems.count > 0 && `Left out ${counted(problems.count, 'wrong line')}.`,
  ]
  printResult(json, result, sentences.filter(Boolean).join('\n'))
}

async function dryRun(env: NodeJS.ProcessEnv, file: File, { json: isJson }: Call['options']): Promise<void> {
  const { problems } = file
  const check = async (database?: Database) => {
    const skippedLines = await file.findConflicts(database?.read)
    const resumedAfterLine = database ? await committedLine(database.read, file.digest) : 0
    const isWanted = (line: number) => line > resumedAfterLine && !skippedLines.has(line)
    const batches = readRecords(file.input.open(), file.options)
    const counts = await findChanges(database?.read, batches, isWanted, file.signal)
    return { changes: changesOf(counts), resumedAfterLine }
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
  const { pets = noCounts(), categories = noCounts(), orders, keys } = changes
  const resumed = resumedAfterLine
    ? `The import would continue after line ${resumedAfterLine}, where it was interrupted. `
    : ''
  const others = countedResources
    .filter((resource) => resource !== defaultResource)
    .map(({ countName, nouns }) => {
      const { added, changed } = changes[countName] ?? noCounts()
      return `${counted(totalOf(changes[countName]), ...nouns)} (${added} added, ${changed} changed)`
    })
  const wrong = problems.count === 1 ? '1 line is wrong' : `${problems.count} lines are wrong`
  const sentence = `${resumed}This would add ${counted(pets.added, 'animal')}, change ${pets.changed} and leave ${pets.unchanged} unchanged. The file has ${listOf(others)}. ${wrong}. Nothing was changed.`
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

/** The changes of all resources, without remarks. */
const changesOf = (counts: KindCounts) =>
  byResource((resource) => {
    const { added, changed, unchanged } = counts.get(resource) ?? noCounts()
    return { added, changed, unchanged }
  })
