import { setFlagsFromString } from 'node:v8'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Db } from '../database/db.ts'
import type { CsvFile } from '../imports/csvFile.ts'
import { noCounts, type Resource } from '../records/resource.ts'
import { explainTemporary } from '../records/temporaryDatabase.ts'
import { resourceOf } from '../resources.ts'
import { MissingDatabaseError, withDatabase } from './database.ts'
import { applyFile, forgetFile } from './import/applyFile.ts'
import { addKindCounts } from './import/applyRecords.ts'
import { addCategories, appliedTo, checkCsv, openCsv } from './import/checkCsv.ts'
import { type CheckedFile, checkFile, FileConflicts } from './import/checkFile.ts'
import { csvOutcome, finishCsv, interruptedOutcome, missingAnimals } from './import/csvSteps.ts'
import { findChanges } from './import/dryRun.ts'
import { type ImportInput, openInput, rejectOtherFormats } from './import/input.ts'
import { type ImportOptions, readOptions } from './import/options.ts'
import { Problems } from './import/problems.ts'
import { printDryRun, printImported } from './import/result.ts'
import { committedLine } from './import/resume.ts'
import type { Call } from './interface/define.ts'
import { interruptible } from './interruption.ts'

/** Lines or photos were left out. */
const skippedCode = 3
const categoryKind = resourceOf('category') as Resource

export async function run({ env, options, args: [name] }: Call<ImportOptions>): Promise<void> {
  // Otherwise the process grows to 250 MB, mostly of garbage.
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=100')
  const read = readOptions(options, name)
  const isCsv = read.format === 'csv'
  await using opened = new AsyncDisposableStack()
  const input = opened.adopt(await openInput(name), (each) => each.close())
  const problems = opened.adopt(new Problems(options.report, name, isCsv), (each) => each.close())
  const conflicts = opened.adopt(new FileConflicts(), (each) => each.close())
  const csv = read.csv ? opened.adopt(openCsv(read, read.csv), (each) => each.close()) : undefined
  const progress = { outcome: 'nothing was imported' }
  const work = async (signal: AbortSignal) => {
    await rejectOtherFormats(input, read)
    const context = { input, options: read, conflicts, problems, signal }
    const checked = await (csv ? checkCsv(csv, context) : checkFile(context))
    const findWrongLines = async (db?: Db) => {
      const unknown = (await csv?.findUnknownCategories(db, problems.add)) ?? []
      return new Set([...unknown, ...(await conflicts.find(db, checked.digest, problems, signal))])
    }
    const file = {
      ...checked,
      input,
      problems,
      csv,
      withKeys: read.withKeys,
      progress,
      findWrongLines,
      signal,
    }
    try {
      await (options.dryRun ? dryRun : importFile)(env, file, options)
    } finally {
      if (csv) await problems.writeCsvReport(input, csv.createReader)
    }
  }
  try {
    await interruptible(() => progress.outcome, work)
  } catch (error) {
    // A full disk of the database is a `DatabaseUnavailableError`, so this one is of a temporary file.
    throw explainTemporary(error, 'temporary files')
  }
}

type File = CheckedFile & {
  readonly input: ImportInput
  readonly problems: Problems
  readonly csv: CsvFile | undefined
  readonly withKeys: boolean
  readonly progress: { outcome: string }
  readonly signal: AbortSignal
  /** The lines that are left out, because they conflict with the database. Without one, nothing is stored. */
  findWrongLines(db?: Db): Promise<ReadonlySet<number>>
}
type Options = Call<ImportOptions>['options']

async function importFile(env: NodeJS.ProcessEnv, file: File, options: Options): Promise<void> {
  const { problems, csv, withKeys, signal } = file
  const { skipBad = false, json } = options
  const rejectWrongLines = () => {
    if (problems.count > 0 && !skipBad) throw new Error(`${problems}\nNothing was imported.`)
  }
  // Before a database is created.
  if (csv && !skipBad) await findUnknownCategories(env, csv, problems)
  rejectWrongLines()
  const work = async (database: Database, config: Config) => {
    const skippedLines = await file.findWrongLines(database.read)
    rejectWrongLines()
    const missing = csv ? await missingAnimals(database.read, csv, options) : []
    if (csv) await addCategories(csv, database)
    const onApplied = csv && appliedTo(csv, problems)
    const applyOptions = { config, skipBad, skippedLines, signal, ...(onApplied && { onApplied }) }
    const applied = await applyFile(database, file.input, file, applyOptions)
    if (!csv) {
      await forgetFile(database, file)
      return { ...applied, csv: undefined }
    }
    file.progress.outcome = interruptedOutcome(csv, options)
    const added = csv.newCategories.length
    if (added > 0) addKindCounts(applied.counts, categoryKind, { ...noCounts(), added })
    const outcome = await finishCsv({ database, config, csv, options, signal }, missing)
    await forgetFile(database, file)
    return { ...applied, csv: { file: csv, outcome } }
  }
  const result = await withDatabase(env, work, { mayCreate: true })
  if (problems.count > 0) console.error(`${problems}`)
  if (problems.count > 0 || (result.csv?.outcome.photos?.failed ?? 0) > 0) process.exitCode = skippedCode
  printImported(json, { ...result, problems }, { withKeys, skipBad })
}

/** Reads the database, if there is one of this version. Otherwise the import finds them later. */
async function findUnknownCategories(
  env: NodeJS.ProcessEnv,
  csv: CsvFile,
  problems: Problems,
): Promise<void> {
  if (!csv.mayHaveUnknownCategories) return
  const find = async (database?: Database) =>
    void (await csv.findUnknownCategories(database?.read, problems.add))
  await withDatabase(env, find, { noMigrationReason: 'it is only read' }).catch((error: unknown) => {
    if (error instanceof MissingDatabaseError) return find()
  })
}

async function dryRun(env: NodeJS.ProcessEnv, file: File, options: Options): Promise<void> {
  const { problems, csv, signal } = file
  const check = async (database?: Database) => {
    const skippedLines = await file.findWrongLines(database?.read)
    const resumedAfterLine = database ? await committedLine(database.read, file.digest) : 0
    const isWanted = (line: number) => line > resumedAfterLine && !skippedLines.has(line)
    const counts = await findChanges(database?.read, file.batches(), isWanted, signal)
    if (!csv) return { counts, resumedAfterLine, csv: undefined }
    const added = csv.newCategories.length
    if (added > 0) addKindCounts(counts, categoryKind, { ...noCounts(), added })
    const missing = await missingAnimals(database?.read, csv, options)
    const outcome = csvOutcome(csv, options, missing.length)
    return { counts, resumedAfterLine, csv: { file: csv, outcome } }
  }
  const result = await withDatabase(env, check, {
    noMigrationReason: 'a dry run does not migrate it',
  }).catch((error: unknown) => {
    if (error instanceof MissingDatabaseError) return check()
    throw error
  })
  if (problems.count > 0) {
    if (!options.json) console.error(`${problems}`)
    process.exitCode = 1
  }
  printDryRun(options.json, { ...result, problems })
}
