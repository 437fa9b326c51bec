import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { ApiError } from '../../api/errors.ts'
import { JsonError, parseJson } from '../../api/json.ts'
import { validate } from '../../api/validation.ts'
import { parsePetFast } from './parsePetFast.ts'
import { contentRequiringWithKeys, type ExportRecord, recordSchema } from './records.ts'

const lineBytesMax = 1024 * 1024
const chunkBytes = 256 * 1024
const lineFeed = 0x0a

/** Reads and validates an NDJSON file, in chunks of records. Keys and counters are rejected without `withKeys`. */
export async function* readRecords(
  file: string,
  withKeys: boolean,
): AsyncGenerator<{ records: ExportRecord[]; bytes: number }> {
  let line = 0
  for await (const chunk of readChunks(file)) {
    if (chunk.length > lineBytesMax && !chunk.includes(lineFeed)) throw lineTooLong(line + 1)
    if (!isUtf8(chunk)) throw lineError(line + invalidUtf8Line(chunk), 'not valid UTF-8')
    const text = chunk.toString('utf8')
    const records: ExportRecord[] = []
    for (let start = 0; start < text.length; ) {
      line++
      const plain = parsePetFast(text, start)
      const end = plain?.end ?? (text.indexOf('\n', start) + 1 || text.length + 1)
      const record = plain?.pet ?? parseRecord(text.slice(start, end - 1), line, withKeys)
      if (record) records.push(record)
      start = end
    }
    yield { records, bytes: chunk.length }
  }
}

/**
 * Chunks of whole lines, the last of which may lack its line feed. `node:readline` also splits at U+2028, which is
 * allowed inside JSON strings.
 */
async function* readChunks(file: string): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  for await (const chunk of createReadStream(file, { highWaterMark: chunkBytes })) {
    const bytes = Buffer.concat([rest, chunk as Buffer])
    const end = bytes.lastIndexOf(lineFeed) + 1
    rest = bytes.subarray(end)
    yield bytes.subarray(0, end)
    // The caller rejects a line that is too long before all of it is in memory.
    if (rest.length > lineBytesMax) break
  }
  yield rest
}

/** The number, from 1, of the first line of a chunk that is not valid UTF-8. */
function invalidUtf8Line(chunk: Buffer): number {
  let start = 0
  for (let line = 1; ; line++) {
    const end = chunk.indexOf(lineFeed, start) + 1 || chunk.length
    if (end === chunk.length || !isUtf8(chunk.subarray(start, end))) return line
    start = end
  }
}

const needsFlag =
  'is imported only with --with-keys. To move all data from a source that you trust, use "petstore import --with-keys". To import only animals, categories and orders, create the file with "petstore export --without-keys".'

/** Returns undefined for a blank line. */
function parseRecord(text: string, line: number, withKeys: boolean): ExportRecord | undefined {
  if (Buffer.byteLength(text) > lineBytesMax) throw lineTooLong(line)
  if (text.trim() === '') return undefined
  try {
    const value = parseJson(text.replace(/^\ufeff/, ''))
    const fields = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
    const schema = fields && recordSchema(fields.type)
    if (!schema)
      throw lineError(line, 'expected an object whose type, if any, is petstore, category, pet, order or key')
    const privileged = withKeys ? undefined : contentRequiringWithKeys(fields)
    if (privileged !== undefined) throw lineError(line, `${privileged} ${needsFlag}`)
    return validate(schema, value, 'body')
  } catch (error) {
    // The parser counts lines within the text, which is always one line.
    if (error instanceof JsonError) throw lineError(line, error.message.replace(/^line 1, /, ''))
    if (error instanceof ApiError && error.details)
      throw lineError(
        line,
        error.details.map(({ path, message }) => `${path.slice(1)} ${message}`).join('; '),
      )
    throw error
  }
}

const lineError = (line: number, problem: string) => new Error(`Line ${line}: ${problem}`)
const lineTooLong = (line: number) => lineError(line, `longer than ${lineBytesMax} bytes`)
