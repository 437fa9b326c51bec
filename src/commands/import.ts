import { createReadStream, createWriteStream, existsSync, rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { systemClock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { ApiError } from '../http/errors.ts'
import { JsonError, type JsonValue, parseJson } from '../http/json.ts'
import { validate } from '../http/validation.ts'
import type { PetStatus } from '../pets/pet.ts'
import { applyRecords } from './applyRecord.ts'
import { readArguments } from './arguments.ts'
import { type AnyRecord, isPet, schemaOf } from './records.ts'
import { report, withStore } from './store.ts'

const usage = `petstore import [FILE] [--json]

Reads NDJSON from FILE or standard input: an export of this program, or one animal a line, such as
  {"name":"Milo","categoryId":3,"status":"available"}
An animal, category, order or key with an id replaces what the store has under that id; an animal without one is new.
An animal that an order is open on keeps the status that the order gives it.
Every line is checked before anything is changed. What only the store can tell, such as a second open order on an
animal, is found on the way; what came before it stays, and the import can be repeated.`

const recordsPerWrite = 5_000
const bytesPerWrite = 4 * 1024 * 1024
const lineBytesMax = 1024 * 1024
const pieceBytes = 256 * 1024
const lineFeed = 0x0a
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values, positionals } = readArguments(args, usage, { json: { type: 'boolean' } }, ['file'])
  const folder = await mkdtemp(join(tmpdir(), 'petstore-import-'))
  try {
    const [given] = positionals
    if (given !== undefined && !existsSync(given)) throw new Error(`There is no file ${given}.`)
    // What is read twice must be a file that is still there the second time: a pipe is not.
    const isFile = given !== undefined && statSync(given).isFile()
    const source = given === undefined ? process.stdin : createReadStream(given)
    const file = isFile ? given : await spool(source, join(folder, 'input.ndjson'))
    // The first pass only checks: bad input must change nothing.
    const highestId = await check(file)
    const counts = await withStore(env, async (database) => {
      // Animals without an id are given none that another of this file has.
      if (highestId > 0) await database.write((trx) => database.dialect.reserveIds(trx, 'pets', highestId))
      return apply(database, file)
    })
    const { pet = 0, category = 0, order = 0, key = 0 } = counts
    report(
      values.json,
      { pets: pet, categories: category, orders: order, keys: key },
      `Imported ${pet} animals, ${category} categories, ${order} orders and ${key} keys.`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function spool(source: NodeJS.ReadableStream, file: string): Promise<string> {
  await pipeline(source, createWriteStream(file, { mode: 0o600 }))
  return file
}

/** The highest id of an animal that stands beside others without one. */
async function check(file: string): Promise<number> {
  let highestId = 0
  let hasOthers = false
  for await (const { records } of readRecords(file)) {
    for (const record of records) {
      if (!isPet(record)) continue
      if (record.id === undefined) hasOthers = true
      else highestId = Math.max(highestId, record.id)
    }
  }
  return hasOthers ? highestId : 0
}

/** As many at a time as a piece of the file has. */
async function* readRecords(file: string): AsyncGenerator<{ records: AnyRecord[]; bytes: number }> {
  let line = 0
  for await (const piece of readPieces(file)) {
    if (piece.length > lineBytesMax && !piece.includes(lineFeed)) throw tooLong(line + 1)
    const { text, isWhole } = decode(piece)
    const records: AnyRecord[] = []
    for (let at = 0; at < text.length; ) {
      line++
      plainPet.lastIndex = at
      const plain = plainPet.exec(text)
      const lineFeedAt = plain ? plainPet.lastIndex - 1 : text.indexOf('\n', at)
      const end = lineFeedAt === -1 ? text.length : lineFeedAt
      const record = plain ? petFrom(plain) : readRecord(text.slice(at, end), line)
      if (record) records.push(record)
      at = end + 1
    }
    if (!isWhole) throw new Error(`Line ${line + 1}: not valid UTF-8`)
    yield { records, bytes: piece.length }
  }
}

/**
 * Pieces of whole lines; the last may want its end. Lines end with a line feed and nothing else: `node:readline` would
 * also end them at U+2028, which a name may have.
 */
async function* readPieces(file: string): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  for await (const chunk of createReadStream(file, { highWaterMark: pieceBytes })) {
    const bytes = Buffer.concat([rest, chunk as Buffer])
    const end = bytes.lastIndexOf(lineFeed) + 1
    rest = bytes.subarray(end)
    yield bytes.subarray(0, end)
    // The reader is told of a line that is too long before all of it is in memory.
    if (rest.length > lineBytesMax) break
  }
  yield rest
}

/** The text of a piece, or of what comes before its first line that is none. */
function decode(piece: Buffer): { text: string; isWhole: boolean } {
  const text = tryToDecode(piece)
  if (text !== undefined) return { text, isWhole: true }
  let start = 0
  for (;;) {
    const end = piece.indexOf(lineFeed, start) + 1 || piece.length
    if (tryToDecode(piece.subarray(start, end)) === undefined)
      return { text: utf8.decode(piece.subarray(0, start)), isWhole: false }
    start = end
  }
}

function tryToDecode(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** An animal as an export writes it, or one a line as most programs would, which needs no more looking at. */
const plainPet =
  /\{(?:"type": ?"pet", ?)?(?:"id": ?([1-9]\d{0,14}), ?)?"name": ?"(?!\s*")([^"\\\p{Cc}\p{Cs}]{1,255})", ?"categoryId": ?(-?[1-9]\d{0,14}|0)(?:, ?"status": ?"(available|pending|sold)")?\}\n/uy

const petFrom = ([, id, name = '', categoryId = '', status]: RegExpExecArray): AnyRecord => ({
  type: 'pet',
  id: id === undefined ? undefined : Number(id),
  name,
  categoryId: BigInt(categoryId),
  status: status as PetStatus | undefined,
})

const tooLong = (line: number) => new Error(`Line ${line}: longer than ${lineBytesMax} bytes`)

const byteOrderMark = /^\ufeff/

function readRecord(text: string, line: number): AnyRecord | undefined {
  if (Buffer.byteLength(text) > lineBytesMax) throw tooLong(line)
  if (text.trim() === '') return undefined
  try {
    const value: JsonValue = parseJson(text.replace(byteOrderMark, ''))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    const schema = isObject ? schemaOf(value.type) : undefined
    if (!schema)
      throw new JsonError('expected an object whose type, if any, is petstore, category, pet, order or key')
    return validate(schema, value, 'body')
  } catch (error) {
    if (error instanceof JsonError || error instanceof ApiError)
      throw new Error(`Line ${line}: ${error.message}`)
    throw error
  }
}

async function apply(database: Database, file: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  let batch: AnyRecord[] = []
  let bytes = 0
  const write = async () => {
    while (batch.length > 0) {
      const done = await database.write((trx) => applyRecords(trx, database, batch, systemClock()))
      batch = batch.slice(done)
    }
    bytes = 0
  }
  for await (const { records, bytes: more } of readRecords(file)) {
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
  return counts
}
