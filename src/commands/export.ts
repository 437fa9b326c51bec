import { once } from 'node:events'
import { toJson } from '../api/json.ts'
import { withDatabase } from './database.ts'
import { ExportCopy } from './export/copy.ts'
import { copyDatabase } from './export/copyDatabase.ts'
import { readCounters, readLines } from './export/sections.ts'
import { formatVersion } from './import/records.ts'
import type { Call } from './interface/define.ts'

type Options = { readonly withoutKeys?: boolean; readonly format?: 'csv' | 'ndjson' }

export async function run({ env, options }: Call<Options>): Promise<void> {
  const withKeys = !options.withoutKeys
  const copy = new ExportCopy()
  try {
    const counters = await withDatabase(env, async (database) => {
      if (database.dialect.watchSilentOrderChanges) return copyDatabase(database, copy, withKeys)
      await database.readableThrough()
      return database.snapshot(async (db) => {
        const counters = await readCounters(db, database.dialect)
        await write(withKeys && counters, readLines(db, withKeys))
        return undefined
      })
    })
    // After the database was closed: the reader of the output may be slow.
    if (counters) await write(withKeys && counters, copy.lines())
  } finally {
    copy.close()
  }
}

async function write(
  counters: object | false,
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<void> {
  await writeLine(toJson({ type: 'petstore', format: formatVersion, ...counters }))
  for await (const line of lines) await writeLine(line)
}

async function writeLine(line: string): Promise<void> {
  if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain')
}
