import { byImport } from '../../audit/audit.ts'
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
import { readRecords } from './readRecords.ts'
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
}

/** Writes a checked file in batches. An interrupted import continues after its last batch. */
export async function applyFile(
  database: Database,
  input: ImportInput,
  { options, digest, highestIds }: CheckedFile,
  { config, skipBad, skippedLines, signal }: ApplyOptions,
): Promise<{ counts: KindCounts; resumedAfterLine: number }> {
  // The events so far get their ids before the feed continues after those of the file.
  await database.allReadableThrough()
  // The database must not assign an id that a record of the file has.
  for (const [{ counter }, id] of highestIds) await database.write(async (trx) => counter?.reserve(trx, id))
  const resumedAfterLine = await committedLine(database.read, digest)
  const writer = new BatchWriter(database, digest, resumedAfterLine)
  using progress = new Progress('Importing')
  let bytesRead = 0
  try {
    for await (const batch of readRecords(input.open(), options)) {
      signal.throwIfAborted()
      // Its lines would not be those that were checked.
      input.assertUnchanged()
      const [problem] = batch.problems
      if (problem && !skipBad) throw new Error(`Line ${problem.line}: ${problem.reason}.`)
      await writer.add(batch, (line) => line > resumedAfterLine && !skippedLines.has(line))
      bytesRead += batch.bytes
      progress.show(writer.written, 'lines', bytesRead / input.bytes)
    }
    await writer.flush()
  } catch (error) {
    throw explain(error, writer.committedLine, config)
  }
  await database.write((trx) => forgetImport(trx, digest, systemClock()))
  return { counts: writer.counts, resumedAfterLine }
}

/** Why the import has stopped, and what it has done. */
function explain(error: unknown, committedLine: number, config: Config): Error {
  if (error instanceof InterruptedError) {
    if (committedLine === 0) return error
    const outcome = `the lines up to ${committedLine} are imported. Start the import again with the same file and options to continue`
    return new InterruptedError(outcome, error.exitCode)
  }
  const sentences = [describeError(explainDatabaseError(error, config))]
  if (error instanceof ConflictError)
    sentences.push(
      'The database was changed during the import. Correct the file or the database, and run it again.',
    )
  const message = sentences.join(' ')
  const done = committedLine > 0 ? `\nThe lines up to ${committedLine} are imported.` : ''
  const next = error instanceof DatabaseUnavailableError ? ' Start the import again to continue.' : ''
  return new Error(`${message}${done}${done && next}`)
}

/** Collects records and writes them in transactions, together with the number of the last line. */
class BatchWriter {
  readonly #database: Database
  readonly #digest: string
  #records: ResourceRecord[] = []
  #lines: number[] = []
  #bytes = 0
  /** The audit entry is part of the first transaction, because an import that stops keeps what it has applied. */
  #isRecorded = false
  #yieldedAt = performance.now()
  readonly counts: KindCounts = new Map()
  written = 0
  committedLine: number

  constructor(database: Database, digest: string, committedLine: number) {
    this.committedLine = committedLine
    this.#database = database
    this.#digest = digest
  }

  async add({ records, lines, bytes }: Batch, isWanted: (line: number) => boolean): Promise<void> {
    for (const [at, record] of records.entries()) {
      const line = lines[at] as number
      if (!isWanted(line)) continue
      this.#records.push(record)
      this.#lines.push(line)
    }
    this.#bytes += bytes
    // Bounded in bytes too: a name cut out of a line keeps the text of its chunk in memory.
    if (this.#bytes >= batchBytesMax) await this.flush()
    else if (this.#records.length >= batchRecordsMax)
      await this.flush(this.#records.length % defaultResource.batchMax)
  }

  /** Leaves up to `leftMax` records for the next batch: statements for fewer pets than usual are not prepared. */
  async flush(leftMax = 0): Promise<void> {
    const database = this.#database
    while (this.#records.length > leftMax) {
      const records = this.#records.slice(0, this.#records.length - leftMax)
      const { applied, counts } = await database.write(async (trx) => {
        const now = systemClock()
        if (!this.#isRecorded) await recordAudit(trx, byImport(now), 'database.imported', 'database')
        const result = await applyRecords(trx, records, now)
        const line = this.#lines[result.applied - 1] as number
        await recordLine(trx, this.#digest, { previous: this.committedLine, line }, now)
        return result
      })
      this.committedLine = this.#lines[applied - 1] as number
      this.#isRecorded = true
      // After each batch, so that the next reader of the feed does not wait for all of them.
      await database.readableThrough()
      if (performance.now() - this.#yieldedAt > transactionMaxMs) {
        await database.yieldToServer()
        this.#yieldedAt = performance.now()
      }
      this.#records = this.#records.slice(applied)
      this.#lines = this.#lines.slice(applied)
      this.written += applied
      for (const [kind, added] of counts) addKindCounts(this.counts, kind, added)
    }
    this.#bytes = 0
  }
}
