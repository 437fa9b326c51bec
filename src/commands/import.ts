import { createReadStream, createWriteStream, existsSync, rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { byImport } from '../audit/audit.ts'
import { recordAudit } from '../audit/queries.ts'
import { systemClock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { IdentityTable } from '../database/tables.ts'
import { printResult } from './cli.ts'
import { withDatabase } from './database.ts'
import { applyRecords } from './import/applyRecords.ts'
import { readRecords } from './import/readRecords.ts'
import type { ExportRecord } from './import/records.ts'
import type { Call } from './interface/define.ts'

const batchRecordsMax = 5_000
const batchBytesMax = 4 * 1024 * 1024

type Options = { readonly withKeys?: boolean }

export async function run({ env, options, args }: Call<Options>): Promise<void> {
  const { withKeys = false } = options
  const folder = await mkdtemp(join(tmpdir(), 'petstore-import-'))
  try {
    const file = await rereadableFile(args[0], folder)
    const highestIds = await validateFile(file, withKeys)
    const counts = await withDatabase(
      env,
      async (database) => {
        // The events so far get their ids before the feed continues after those of the file.
        await database.readableThrough()
        // The database must not assign an id that a record of the file has.
        for (const [table, id] of highestIds)
          await database.write((trx) => database.dialect.reserveIds(trx, table, id))
        return applyFile(database, file, withKeys)
      },
      { mayCreate: true },
    )
    printResult(options.json, counts, summary(counts))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The input is read twice, so anything but a regular file is copied to one. */
async function rereadableFile(given: string | undefined, folder: string): Promise<string> {
  if (given !== undefined && !existsSync(given)) throw new Error(`There is no file ${given}.`)
  if (given !== undefined && statSync(given).isDirectory())
    throw new Error(`${given} is a folder, not a file.`)
  if (given !== undefined && statSync(given).isFile()) return given
  const copy = join(folder, 'input.ndjson')
  const source = given === undefined ? process.stdin : createReadStream(given)
  await pipeline(source, createWriteStream(copy, { mode: 0o600 }))
  return copy
}

const tables = { pet: 'pets', order: 'orders', key: 'api_keys' } as const

/** Validates every line. Returns the highest id for each table whose ids the database assigns. */
async function validateFile(file: string, withKeys: boolean): Promise<Map<IdentityTable, number>> {
  const highest = new Map<IdentityTable, number>()
  for await (const { records } of readRecords(file, withKeys)) {
    for (const record of records) {
      if (record.type === 'petstore' || record.type === 'category') continue
      const { type = 'pet', id } = record
      if (id !== undefined) highest.set(tables[type], Math.max(highest.get(tables[type]) ?? 0, id))
    }
  }
  return highest
}

async function applyFile(database: Database, file: string, withKeys: boolean) {
  const counts = { petstore: 0, pet: 0, category: 0, order: 0, key: 0 }
  const keyOutcomes = { imported: 0, renumbered: 0, unchanged: 0 }
  let batch: ExportRecord[] = []
  let batchBytes = 0
  /** The audit entry is part of the first transaction, because an import that stops keeps what it has applied. */
  let isRecorded = false
  const applyBatch = async () => {
    while (batch.length > 0) {
      const { applied, keys } = await database.write(async (trx) => {
        const now = systemClock()
        if (!isRecorded) await recordAudit(trx, byImport(now), 'database.imported', 'database')
        return applyRecords(trx, database.dialect, batch, now)
      })
      isRecorded = true
      // After each batch, so that the next reader of the feed does not wait for all of them.
      await database.readableThrough()
      batch = batch.slice(applied)
      for (const outcome of keys) keyOutcomes[outcome]++
    }
    batchBytes = 0
  }
  for await (const { records, bytes } of readRecords(file, withKeys)) {
    for (const { type = 'pet' } of records) counts[type]++
    batch.push(...records)
    batchBytes += bytes
    // Bounded in bytes too: a name cut out of a line keeps the text of its chunk in memory.
    if (batch.length >= batchRecordsMax || batchBytes >= batchBytesMax) await applyBatch()
  }
  await applyBatch()
  return {
    pets: counts.pet,
    categories: counts.category,
    orders: counts.order,
    keys: counts.key,
    ...(withKeys && { keysRenumbered: keyOutcomes.renumbered, keysUnchanged: keyOutcomes.unchanged }),
  }
}

type ImportCounts = Awaited<ReturnType<typeof applyFile>>

function summary({ pets, categories, orders, keys, keysRenumbered, keysUnchanged }: ImportCounts): string {
  const sentences = [
    `Imported ${pets} animals, ${categories} categories, ${orders} orders and ${keys} keys.`,
    keysRenumbered && `${keysRenumbered} keys got a new id, because another key has their id.`,
    keysUnchanged &&
      `${keysUnchanged} keys can manage keys in this database and were not changed. See "petstore keys list".`,
  ]
  return sentences.filter(Boolean).join('\n')
}
