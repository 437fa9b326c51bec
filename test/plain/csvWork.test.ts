import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { readCsv } from '../../src/imports/csv/readCsv.ts'
import { readText } from '../../src/imports/csv/readText.ts'

const sliceBytes = 1_000

async function* slicesOf(text: string) {
  const bytes = Buffer.from(text)
  for (let from = 0; from < bytes.length; from += sliceBytes) yield bytes.subarray(from, from + sliceBytes)
}

const readerOf = (headings: readonly string[]) => ({
  headings,
  read: (cells: readonly string[]) => cells,
  isRow: (cells: readonly string[]) => cells[0] === 'Luna',
})

/** Reads a file in small slices. Returns the most that was read without a pause, in wrong and right lines. */
async function read(text: string): Promise<number> {
  let linesMax = 0
  for await (const { rows, problems } of readCsv(readText(slicesOf(text)), readerOf))
    linesMax = Math.max(linesMax, rows.length + problems.length)
  return linesMax
}

const header = 'name,category,note\n'
const lines = (line: string, length: number) => line.repeat(length / line.length)
const shapes: [what: string, file: (length: number) => string][] = [
  ['a long line', (length) => `${header}Luna,dog,${'a'.repeat(length)}\n`],
  ['a long cell', (length) => `${header}Luna,dog,"${'""'.repeat(length / 2)}"\n`],
  ['a cell with many lines', (length) => `${header}Luna,dog,"${lines('a ""b""\n', length)}"\n`],
  ['a quotation mark that is not closed', (length) => `${header}"Luna,dog,\n${lines('a ""b""\n', length)}`],
  ['a quotation mark in each line', (length) => `${header}${lines('"a\n', length)}`],
  ['cells from each line to the next', (length) => `${header}"a\n${lines('b","c\n', length)}`],
  ['wrong cells in each line', (length) => `${header}${lines('b","c\n', length)}`],
]

/** Reads a file, and returns how many characters were searched and how many bytes were copied, for each of its bytes. */
async function workOf(t: TestContext, text: string): Promise<number> {
  let work = 0
  const { concat } = Buffer
  const { indexOf } = String.prototype
  t.after(() => Object.assign(Buffer, { concat }) && Object.assign(String.prototype, { indexOf }))
  Buffer.concat = (parts: readonly Uint8Array[]) => {
    const bytes = concat(parts)
    work += bytes.length
    return bytes
  }
  // Not by `t.mock`, which keeps every call.
  String.prototype.indexOf = function (this: string, searched: string, from = 0) {
    const found = indexOf.call(this, searched, from)
    work += (found === -1 ? this.length : found) - from
    return found
  }
  await read(text)
  return work / text.length
}

describe('the work to read a file grows with its size, and not faster', () => {
  for (const [what, file] of shapes)
    test(`with ${what}`, async (t) => {
      const work = await workOf(t, file(120_000))
      assert.ok(work < 12, `${work} for each byte`)
    })
})

test('many lines that a quotation mark has joined are read in pieces', async () => {
  const text = `${header}"a\n${lines('Luna,dog,\n', 1_000_000)}`
  assert.ok((await read(text)) < 20_000)
})
