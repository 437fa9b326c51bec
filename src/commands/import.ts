import { createReadStream, createWriteStream, existsSync, rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { systemClock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { applyRecords } from './applyRecord.ts'
import { parseArguments } from './arguments.ts'
import { readRecords } from './readRecords.ts'
import { type ExportRecord, isPetRecord } from './records.ts'
import { printResult, withDatabase } from './store.ts'

const usage = `petstore import [FILE] [--with-keys] [--json]

Reads NDJSON from FILE or standard input: an export of this program, or one animal a line, such as
  {"name":"Milo","categoryId":3,"status":"available"}
An animal, category or order with an id replaces what the store has under that id; an animal without one is new.
An animal that an order is open on keeps the status that the order gives it.

  --with-keys  also takes keys and counters, which an export has unless it was made with --without-keys. They give
               access to this service: use it only for a file that you trust. Without it, a file that has any is
               refused.

With --with-keys a key that the store has already, by its secret or by its id and time of creation, is changed as HTTP
could change it: what is revoked or ended stays so. Keys that can manage keys in this store are never changed. A key whose
id another key of this store has gets a new id.

Every line is checked before anything is changed. What only the store can tell, such as a second open order on an
animal, is found on the way; what came before it stays, and the import can be repeated.`

const recordsPerWrite = 5_000
const bytesPerWrite = 4 * 1024 * 1024

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values, positionals } = parseArguments(
    args,
    usage,
    { json: { type: 'boolean' }, 'with-keys': { type: 'boolean' } },
    ['file'],
  )
  const withKeys = values['with-keys'] ?? false
  const folder = await mkdtemp(join(tmpdir(), 'petstore-import-'))
  try {
    const [given] = positionals
    if (given !== undefined && !existsSync(given)) throw new Error(`There is no file ${given}.`)
    // What is read twice must be a file that is still there the second time: a pipe is not.
    const isFile = given !== undefined && statSync(given).isFile()
    const source = given === undefined ? process.stdin : createReadStream(given)
    const file = isFile ? given : await spool(source, join(folder, 'input.ndjson'))
    // The first pass only checks: bad input must change nothing.
    const highest = await check(file, withKeys)
    const imported = await withDatabase(env, async (database) => {
      // What gets its id here is given none that another line of this file has.
      for (const table of ['pets', 'api_keys'] as const) {
        const id = highest[table]
        if (id > 0) await database.write((trx) => database.dialect.reserveIds(trx, table, id))
      }
      return apply(database, file, withKeys)
    })
    const { keysRenumbered, keysUnchanged, ...counts } = imported
    printResult(values.json, withKeys ? imported : counts, sentenceOf(imported))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

type Imported = {
  readonly pets: number
  readonly categories: number
  readonly orders: number
  readonly keys: number
  readonly keysRenumbered: number
  readonly keysUnchanged: number
}

function sentenceOf({ pets, categories, orders, keys, keysRenumbered, keysUnchanged }: Imported): string {
  const sentences = [
    `Imported ${pets} animals, ${categories} categories, ${orders} orders and ${keys} keys.`,
    keysRenumbered > 0 &&
      `${keysRenumbered} of the keys got a new id: this store has other keys under theirs.`,
    keysUnchanged > 0 &&
      `Of these keys ${keysUnchanged} can manage keys in this store, and stay as they are: see "petstore keys list".`,
  ]
  return sentences.filter((sentence) => sentence !== false).join('\n')
}

async function spool(source: NodeJS.ReadableStream, file: string): Promise<string> {
  await pipeline(source, createWriteStream(file, { mode: 0o600 }))
  return file
}

/** Checks every line. Answers the highest ids of keys, and of animals that stand beside others without one. */
async function check(file: string, withKeys: boolean): Promise<{ pets: number; api_keys: number }> {
  const highest = { pets: 0, api_keys: 0 }
  let hasOthers = false
  for await (const { records } of readRecords(file, withKeys)) {
    for (const record of records) {
      if (record.type === 'key') highest.api_keys = Math.max(highest.api_keys, record.id)
      if (!isPetRecord(record)) continue
      if (record.id === undefined) hasOthers = true
      else highest.pets = Math.max(highest.pets, record.id)
    }
  }
  return hasOthers ? highest : { ...highest, pets: 0 }
}

async function apply(database: Database, file: string, withKeys: boolean): Promise<Imported> {
  const counts: Record<string, number> = {}
  const outcomes = { imported: 0, renumbered: 0, unchanged: 0 }
  let batch: ExportRecord[] = []
  let bytes = 0
  const write = async () => {
    while (batch.length > 0) {
      const { done, keys } = await database.write((trx) => applyRecords(trx, database, batch, systemClock()))
      batch = batch.slice(done)
      for (const outcome of keys) outcomes[outcome]++
    }
    bytes = 0
  }
  for await (const { records, bytes: more } of readRecords(file, withKeys)) {
    bytes += more
    for (const record of records) {
      const type = record.type ?? 'pet'
      counts[type] = (counts[type] ?? 0) + 1
      batch.push(record)
    }
    // What is cut out of a line keeps all of it in memory.
    if (batch.length >= recordsPerWrite || bytes >= bytesPerWrite) await write()
  }
  await write()
  const { pet = 0, category = 0, order = 0, key = 0 } = counts
  return {
    pets: pet,
    categories: category,
    orders: order,
    keys: key,
    keysRenumbered: outcomes.renumbered,
    keysUnchanged: outcomes.unchanged,
  }
}
