import { actorText } from '../../actor.ts'
import { byCommand } from '../../audit/audit.ts'
import { recordAudit } from '../../audit/queries.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import { type Database, DatabaseUnavailableError } from '../../database/database.ts'
import { ConflictError, type ResourceRecord } from '../../records/resource.ts'
import { defaultResource } from '../../resources.ts'
import { describeError } from '../cli.ts'
import { explainDatabaseError } from '../database.ts'
import { InterruptedError } from '../interruption.ts'
import { Progress } from '../output/progress.ts'
import { addKindCounts, applyRecords, type KindCounts, transactionMaxMs } from './applyRecords.ts'
import type { CheckedFile } from './checkFile.ts'
import type { ImportInput } from './input.ts'
import type { Batch } from './records.ts'
import { committedLine, forgetImport, recordLine } from './resume.ts'

const batchRecordsMax = 5_000
const batchBytesMax = 4 * 1024 * 1024

type ApplyOptions = {
  readonly config: Config
  /** Wrong lines are left out. Otherwise the file has none. */
  readonly skipBad: boolean
  /** Correct lines that are left out too. */
  readonly skippedLines: ReadonlySet<number>
  readonly signal: AbortSignal
  /** Called with the records of each transaction, after it was committed. */
  onApplied?(records: readonly ResourceRecord[], lines: readonly number[]): void
}

/**
 * Writes a checked file in batches. An interrupted import continues after its last batch, until `forgetFile` is called at
 * the end of the import.
 */
export async function applyFile(
  database: Database,
  input: ImportInput,
  { digest, highestIds, batches }: CheckedFile,
  { config, skipBad, skippedLines, signal, onApplied }: ApplyOptions,
): Promise<{ counts: KindCounts; resumedAfterLine: number }> {
  // The events so far get their ids before the feed continues after those of the file.
  await database.allReadableThrough()
  // The database must not assign an id that a record of the file has.
  for (const [{ counter }, id] of highestIds) await database.write(async (trx) => counter?.reserve(trx, id))
  const resumedAfterLine = await committedLine(database.read, digest)
  const { done, add, flush } = createBatchWriter(database, digest, resumedAfterLine, onApplied)
  using progress = new Progress('Importing')
  let bytesRead = 0
  try {
    for await (const batch of batches()) {
      signal.throwIfAborted()
      // Its lines would not be those that were checked.
      await input.assertUnchanged()
      const [problem] = batch.problems
      if (problem && !skipBad) throw new Error(`Line ${problem.line}: ${problem.reason}.`)
      await add(batch, (line) => line > resumedAfterLine && !skippedLines.has(line))
      bytesRead += batch.bytes
      progress.show(done.written, 'lines', bytesRead / input.bytes)
    }
    await flush()
  } catch (error) {
    throw explain(error, done.committedLine, config)
  }
  return { counts: done.counts, resumedAfterLine }
}

/** The import has ended: the next one of the file begins at its first line. */
export const forgetFile = (database: Database, { digest }: CheckedFile): Promise<void> =>
  database.write((trx) => forgetImport(trx, digest, systemClock()))

/** Why the import has stopped, and what it has done. */
function explain(error: unknown, committedLine: number, config: Config): Error {
  if (error instanceof InterruptedError) {
    if (committedLine === 0) return error
    const outcome = `the lines up to ${committedLine} are imported. Start the import again with the same file and options to continue`
    return new InterruptedError(outcome, error.exitCode)
  }
  const message = describeError(explainDatabaseError(error, config))
  const reason =
    error instanceof ConflictError
      ? ' The database was changed during the import. Correct the file or the database, and run it again.'
      : ''
  const done = committedLine > 0 ? `\nThe lines up to ${committedLine} are imported.` : ''
  const next = error instanceof DatabaseUnavailableError ? ' Start the import again to continue.' : ''
  return new Error(`${message}${reason}${done}${done && next}`)
}

/** Collects records and writes them in transactions, together with the number of the last line. */
function createBatchWriter(
  database: Database,
  digest: string,
  resumedAfterLine: number,
  onApplied: ApplyOptions['onApplied'],
) {
  const counts: KindCounts = new Map()
  const done = { counts, written: 0, committedLine: resumedAfterLine }
  let records: ResourceRecord[] = []
  let lines: number[] = []
  let bytes = 0
  /** The audit entry is part of the first transaction, because an import that stops keeps what it has applied. */
  let isRecorded = false
  let yieldedAt = performance.now()

  /** Leaves up to `leftMax` records for the next batch: statements for fewer pets than usual are not prepared. */
  async function flush(leftMax = 0): Promise<void> {
    while (records.length > leftMax) {
      const batch = records.slice(0, records.length - leftMax)
      const { applied, counts: added } = await database.write(async (trx) => {
        trx.actor = actorText({ command: 'import' })
        const now = systemClock()
        if (!isRecorded) await recordAudit(trx, byCommand('import', now), 'database.imported', 'database')
        const result = await applyRecords(trx, batch, now)
        const line = lines[result.applied - 1] as number
        await recordLine(trx, digest, { previous: done.committedLine, line }, now)
        return result
      })
      done.committedLine = lines[applied - 1] as number
      isRecorded = true
      onApplied?.(batch.slice(0, applied), lines.slice(0, applied))
      // After each batch, so that the next reader of the feed does not wait for all of them.
      await database.readableThrough()
      if (performance.now() - yieldedAt > transactionMaxMs) {
        await database.yieldToServer()
        yieldedAt = performance.now()
      }
      records = records.slice(applied)
      lines = lines.slice(applied)
      done.written += applied
      for (const [kind, each] of added) addKindCounts(counts, kind, each)
    }
    bytes = 0
  }

  async function add(batch: Batch, isWanted: (line: number) => boolean): Promise<void> {
    for (const [at, record] of batch.records.entries()) {
      const line = batch.lines[at] as number
      if (!isWanted(line)) continue
      records.push(record)
      lines.push(line)
    }
    bytes += batch.bytes
    // Bounded in bytes too: a name cut out of a line keeps the text of its chunk in memory.
    if (bytes >= batchBytesMax) await flush()
    else if (records.length >= batchRecordsMax) await flush(records.length % defaultResource.batchMax)
  }

  return { done, add, flush }
}
