import { once } from 'node:events'
import { toJson } from '../api/json.ts'
import { parseArguments } from './cli.ts'
import { withDatabase } from './database.ts'
import { ExportCopy } from './export/copy.ts'
import { copyDatabase } from './export/copyDatabase.ts'
import { readCounters, readLines } from './export/sections.ts'
import { formatVersion } from './import/records.ts'

const usage = `petstore export [--without-keys] > petstore.ndjson

Writes all data as NDJSON: animals, categories, orders, keys (hashes only, no secrets) and counters. The export is
consistent, and a server can use the database at the same time. Webhooks are not exported. "petstore import --with-keys"
reads the file. With PostgreSQL, the export needs as much space for temporary files (TMPDIR) as for its output.

  --without-keys  leaves out keys and counters; "petstore import" then reads the file without --with-keys

The file contains names of customers. Make sure that only you can read it (umask 077).`

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values } = parseArguments(args, usage, {
    json: { type: 'boolean' },
    'without-keys': { type: 'boolean' },
  })
  const withKeys = !values['without-keys']
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
