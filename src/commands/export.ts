import { once } from 'node:events'
import { parseJson, toJson } from '../api/json.ts'
import { formatCsvRecord, markFormula } from '../imports/csv/csv.ts'
import { petCsvFields } from '../pets/record.ts'
import { explainTemporary } from '../records/temporaryDatabase.ts'
import { countedResources, defaultResource, resources } from '../resources.ts'
import { writeOutput } from './cli.ts'
import { withDatabase } from './database.ts'
import { ExportCopy } from './export/copy.ts'
import { copyInBatches } from './export/copyInBatches.ts'
import { type Counters, readCounters, readLines, type TypedLine } from './export/lines.ts'
import { formatVersion, headerType } from './import/records.ts'
import type { Call } from './interface/define.ts'
import { Progress } from './output/progress.ts'

type Options = {
  readonly withoutKeys?: boolean
  readonly withoutPhotos?: boolean
  readonly format?: 'csv' | 'ndjson'
}

export async function run({ env, options }: Call<Options>): Promise<void> {
  const isCsv = options.format === 'csv'
  const withKeys = !options.withoutKeys && !isCsv
  const exported = isCsv
    ? [defaultResource]
    : resources.filter(
        ({ requiresWithKeys, isLarge }) =>
          (withKeys || !requiresWithKeys) && !(isLarge && options.withoutPhotos),
      )
  /** The number of lines of each type. */
  const counts = new Map<string, number>()
  const write = async (counters: Counters, lines: AsyncIterable<TypedLine> | Iterable<TypedLine>) => {
    using progress = new Progress('Exporting')
    let count = 0
    const writeLine = async (line: string) => {
      if (!writeOutput(`${line}\n`)) await once(process.stdout, 'drain')
      progress.show(++count, 'lines')
    }
    const header = { type: headerType, format: formatVersion, ...(withKeys && counters) }
    await writeLine(isCsv ? formatCsvRecord(petCsvFields) : toJson(header))
    for await (const { type, text } of lines) {
      await writeLine(isCsv ? toCsv(text) : text)
      counts.set(type, (counts.get(type) ?? 0) + 1)
    }
  }
  const copy = new ExportCopy()
  try {
    const counters = await withDatabase(env, async (database) => {
      if (database.read.dialect.engine === 'postgres') return copyInBatches(database, copy, exported)
      return database.snapshot(async (db) => {
        await write(await readCounters(db), readLines(db, exported))
        return undefined
      })
    })
    // After the database was closed: the reader of the output may be slow.
    if (counters) await write(counters, copy.lines(exported))
    const counted = isCsv ? exported : countedResources
    const named = counted.map(({ type, countName }) => [countName, counts.get(type) ?? 0])
    // Standard output has the data.
    if (options.json) console.error(JSON.stringify(Object.fromEntries(named)))
  } catch (error) {
    throw explainTemporary(error, 'temporary file')
  } finally {
    copy.close()
  }
}

/** Only pets, with the columns that an import reads. */
function toCsv(line: string): string {
  const pet = parseJson(line) as Record<string, unknown>
  // Only texts can be formulas. Numbers, which can be negative, stay numbers for other programs.
  const cells = petCsvFields.map((field) => {
    const value = pet[field] ?? ''
    return typeof value === 'string' ? markFormula(value) : String(value)
  })
  return formatCsvRecord(cells)
}
