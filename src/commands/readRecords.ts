import { createReadStream } from 'node:fs'
import { ApiError } from '../api/errors.ts'
import { JsonError, type JsonValue, parseJson } from '../api/json.ts'
import { validate } from '../api/validation.ts'
import type { PetStatus } from '../pets/pet.ts'
import { type ExportRecord, privilegedContent, recordSchema } from './records.ts'

const lineBytesMax = 1024 * 1024
const pieceBytes = 256 * 1024
const lineFeed = 0x0a
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The records of a file, as many at a time as a piece of it has. Privileged ones are refused unless they are asked for. */
export async function* readRecords(
  file: string,
  withKeys: boolean,
): AsyncGenerator<{ records: ExportRecord[]; bytes: number }> {
  let line = 0
  for await (const piece of readPieces(file)) {
    if (piece.length > lineBytesMax && !piece.includes(lineFeed)) throw tooLong(line + 1)
    const { text, isWhole } = decode(piece)
    const records: ExportRecord[] = []
    for (let at = 0; at < text.length; ) {
      line++
      plainPet.lastIndex = at
      const plain = plainPet.exec(text)
      const lineFeedAt = plain ? plainPet.lastIndex - 1 : text.indexOf('\n', at)
      const end = lineFeedAt === -1 ? text.length : lineFeedAt
      const record = plain ? petFrom(plain) : readRecord(text.slice(at, end), line, withKeys)
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

const petFrom = ([, id, name = '', categoryId = '', status]: RegExpExecArray): ExportRecord => ({
  type: 'pet',
  id: id === undefined ? undefined : Number(id),
  name,
  categoryId: BigInt(categoryId),
  status: status as PetStatus | undefined,
})

const tooLong = (line: number) => new Error(`Line ${line}: longer than ${lineBytesMax} bytes`)

const byteOrderMark = /^\ufeff/

const needsFlag =
  'is imported only with --with-keys. To move a whole store that you trust, use "petstore import --with-keys"; for its animals, categories and orders alone, make the file with "petstore export --without-keys".'

function readRecord(text: string, line: number, withKeys: boolean): ExportRecord | undefined {
  if (Buffer.byteLength(text) > lineBytesMax) throw tooLong(line)
  if (text.trim() === '') return undefined
  try {
    const value: JsonValue = parseJson(text.replace(byteOrderMark, ''))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    const schema = isObject ? recordSchema(value.type) : undefined
    if (!schema)
      throw new JsonError('expected an object whose type, if any, is petstore, category, pet, order or key')
    const privilege = isObject && !withKeys ? privilegedContent(value) : undefined
    if (privilege !== undefined) throw new JsonError(`${privilege} ${needsFlag}`)
    return validate(schema, value, 'body')
  } catch (error) {
    if (error instanceof JsonError || error instanceof ApiError)
      throw new Error(`Line ${line}: ${error.message}`)
    throw error
  }
}
