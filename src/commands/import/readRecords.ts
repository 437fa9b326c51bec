import { parseJson } from '../../api/json.ts'
import { validate } from '../../api/validation.ts'
import { LineError, type Problem, problemOf } from '../../imports/csv/problem.ts'
import { readText, type TextChunk } from '../../imports/csv/readText.ts'
import type { ResourceRecord } from '../../records/resource.ts'
import { countedResources, counters, defaultResource, resourceOf } from '../../resources.ts'
import { listOf } from '../counts.ts'
import { type Batch, headerType, kindOf, type ReadOptions } from './records.ts'

/** Reads and validates a file of NDJSON in chunks. */
export async function* readRecords(
  source: AsyncIterable<Buffer>,
  options: ReadOptions,
  onBytes?: (bytes: Buffer) => void,
): AsyncGenerator<Batch> {
  for await (const chunk of readText(source, onBytes)) yield readLines(chunk, options)
}

function readLines({ text, line: firstLine, bytes, problems }: TextChunk, options: ReadOptions): Batch {
  const batch: Batch = { records: [], lines: [], problems: [...problems], bytes }
  const isPlain = options.externalId === undefined
  let line = firstLine
  for (let start = 0; start < text.length; line++) {
    const plain = isPlain ? defaultResource.parseFast?.(text, start) : undefined
    const end = plain?.end ?? (text.indexOf('\n', start) + 1 || text.length + 1)
    const record = plain?.record ?? parseLine(text.slice(start, end - 1), line, options, batch.problems)
    if (record) {
      batch.records.push(record)
      batch.lines.push(line)
    }
    start = end
  }
  return batch
}

/** Returns undefined for a blank line, and for a wrong one, which is added to the problems. */
function parseLine(text: string, line: number, options: ReadOptions, problems: Problem[]) {
  if (text.trim() === '') return undefined
  try {
    return parseRecord(text, line, options)
  } catch (error) {
    problems.push({ line, reason: problemOf(error) })
    return undefined
  }
}

const nounsWithoutKeys = countedResources.flatMap(({ requiresWithKeys, nouns }) =>
  requiresWithKeys ? [] : nouns[1],
)
const needsWithKeys = `is imported only with --with-keys. To move all data from a source that you trust, use "petstore import --with-keys". To import only ${listOf(nounsWithoutKeys)}, create the file with "petstore export --without-keys".`

/** In the order of the file. */
const recordTypes = countedResources
  .toSorted((a, b) => (a.positions.at(-1) ?? 0) - (b.positions.at(-1) ?? 0))
  .map(({ type }) => type)
const unknownType = `expected an object whose type, if any, is ${listOf([headerType, ...recordTypes], 'or')}`

function parseRecord(text: string, line: number, { withKeys, externalId }: ReadOptions): ResourceRecord {
  const value = parseJson(text.replace(/^\ufeff/, ''))
  const fields = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  const kind = fields && kindOf(fields.type)
  if (!fields || !kind?.schema) throw new LineError(unknownType)
  const privileged = withKeys ? undefined : contentRequiringWithKeys(fields)
  if (privileged !== undefined) throw new Error(`Line ${line}: ${privileged} ${needsWithKeys}`)
  const id = externalId === undefined ? null : (fields[externalId] ?? null)
  // A larger number has lost digits, so two animals could have the same.
  if (id !== null && typeof id !== 'string' && typeof id !== 'bigint')
    throw new LineError(`${externalId} must be a string or an integer of at most 64 bits`)
  const record = id === null ? fields : { ...fields, externalId: String(id) }
  try {
    return validate(kind.schema, record, 'body')
  } catch (error) {
    // Without the first line of an export, no line of the file can be imported.
    if (fields.type === headerType) throw new Error(`Line ${line}: ${problemOf(error)}`)
    throw error
  }
}

/** What only an import with `--with-keys` accepts: keys, and counters, which move the ids and the event feed. */
function contentRequiringWithKeys(value: { readonly [name: string]: unknown }): string | undefined {
  const resource = resourceOf(value.type)
  if (resource) return resource.requiresWithKeys && `a ${resource.nouns[0]}`
  const counter = Object.keys(value).find((key) => counters.some(({ name }) => name === key))
  return counter && `a full export, which has keys and the highest ids (${counter}),`
}
