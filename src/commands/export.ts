import { once } from 'node:events'
import { parseJson, toJson } from '../api/json.ts'
import { writeOutput } from './cli.ts'
import { withDatabase } from './database.ts'
import { ExportCopy } from './export/copy.ts'
import { copyDatabase } from './export/copyDatabase.ts'
import { type Counters, type RecordType, readCounters, readLines } from './export/sections.ts'
import { formatCsvRecord, markFormula } from './import/csv.ts'
import { csvFields } from './import/readCsv.ts'
import { formatVersion } from './import/records.ts'
import type { Call } from './interface/define.ts'
import { Progress } from './output/progress.ts'

type Options = { readonly withoutKeys?: boolean; readonly format?: 'csv' | 'ndjson' }
type Lines = AsyncIterable<string> | Iterable<string>
/** The number of lines of each type. Types without a number are left out. */
type Counts = { [Type in RecordType]?: number }

const typeAt = '{"type":"'.length

export async function run({ env, options }: Call<Options>): Promise<void> {
  const isCsv = options.format === 'csv'
  const withKeys = !options.withoutKeys && !isCsv
  const counts: Counts = isCsv ? { pet: 0 } : { pet: 0, category: 0, order: 0, key: 0 }
  const write = (counters: Counters, lines: Lines) => {
    const counted = countLines(lines, counts)
    return writeLines(isCsv ? toCsv(counted) : toNdjson(withKeys && counters, counted))
  }
  const copy = new ExportCopy()
  try {
    const counters = await withDatabase(env, async (database) => {
      if (database.read.dialect.watchSilentChanges) return copyDatabase(database, copy, withKeys)
      return database.snapshot(async (db) => {
        await write(await readCounters(db), readLines(db, withKeys))
        return undefined
      })
    })
    // After the database was closed: the reader of the output may be slow.
    if (counters) await write(counters, copy.lines())
    const { pet: pets, category: categories, order: orders, key: keys } = counts
    // Standard output has the data.
    if (options.json) console.error(JSON.stringify({ pets, categories, orders, keys }))
  } finally {
    copy.close()
  }
}

/** The lines of the types to be counted. */
async function* countLines(lines: Lines, counts: Counts): AsyncGenerator<string> {
  for await (const line of lines) {
    const type = line.slice(typeAt, line.indexOf('"', typeAt)) as RecordType
    const count = counts[type]
    if (count === undefined) continue
    counts[type] = count + 1
    yield line
  }
}

async function* toNdjson(counters: Counters | false, lines: Lines): AsyncGenerator<string> {
  yield toJson({ type: 'petstore', format: formatVersion, ...counters })
  yield* lines
}

/** Only pets, with the columns that an import reads. */
async function* toCsv(lines: Lines): AsyncGenerator<string> {
  yield formatCsvRecord(csvFields)
  for await (const line of lines) {
    const pet = parseJson(line) as Record<string, unknown>
    // Only texts can be formulas. Numbers, which can be negative, stay numbers for other programs.
    yield formatCsvRecord(
      csvFields.map((field) => {
        const value = pet[field] ?? ''
        return typeof value === 'string' ? markFormula(value) : String(value)
      }),
    )
  }
}

async function writeLines(lines: AsyncIterable<string>): Promise<void> {
  using progress = new Progress('Exporting')
  let count = 0
  for await (const line of lines) {
    if (!writeOutput(`${line}\n`)) await once(process.stdout, 'drain')
    progress.show(++count, 'lines')
  }
}
