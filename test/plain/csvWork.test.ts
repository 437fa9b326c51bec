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

async function read(text: string, onStep = (_records: number) => {}): Promise<void> {
  for await (const { records } of readCsv(readText(slicesOf(text)), readerOf)) onStep(records)
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

type Work = { readonly all: number; readonly longestStep: number; readonly recordsMax: number }

/** Reads a file, and counts characters that were searched, and bytes that were copied. */
async function workOf(t: TestContext, text: string): Promise<Work> {
  let all = 0
  let before = 0
  let longestStep = 0
  let recordsMax = 0
  const { concat } = Buffer
  const { indexOf } = String.prototype
  t.after(() => Object.assign(Buffer, { concat }) && Object.assign(String.prototype, { indexOf }))
  Buffer.concat = (parts: readonly Uint8Array[]) => {
    const bytes = concat(parts)
    all += bytes.length
    return bytes
  }
  // Not by `t.mock`, which keeps every call.
  String.prototype.indexOf = function (this: string, searched: string, from = 0) {
    const found = indexOf.call(this, searched, from)
    all += (found === -1 ? this.length : found) - from
    return found
  }
  await read(text, (records) => {
    longestStep = Math.max(longestStep, all - before)
    before = all
    recordsMax = Math.max(recordsMax, records)
  })
  return { all, longestStep, recordsMax }
}

describe('the work to read a file grows with its size, and not faster', () => {
  for (const [what, file] of shapes)
    test(`with ${what}`, async (t) => {
      const length = 120_000
      const { all } = await workOf(t, file(length))
      assert.ok(all < 12 * length, `${all / length} for each byte`)
    })
})

describe('others can run after a bounded amount of work', () => {
  const mebibyte = 1024 ** 2
  const others: typeof shapes = [
    ['lines that a quotation mark has joined', (length) => `${header}"a\n${lines('Luna,dog,\n', length)}`],
    ['a quotation mark before short lines', (length) => `${header}"Luna,dog,\n${lines('a\n', length)}`],
    ['a quotation mark before empty lines', (length) => `${header}"Luna,dog,\n${lines('\n', length)}`],
    ['a cell with empty lines', (length) => `${header}Luna,dog,"${lines('\n', length)}"\n`],
    ['a wrong cell with empty lines', (length) => `${header}Luna,dog,"${lines('\n', length)}"a\n`],
    ['empty lines', (length) => `${header}${lines('\n', length)}`],
  ]
  for (const [what, file] of others)
    test(`with ${what}`, async (t) => {
      const { longestStep, recordsMax } = await workOf(t, file(3 * mebibyte))
      assert.ok(longestStep < 2 * mebibyte, `${longestStep} characters`)
      assert.ok(recordsMax <= 1_001, `${recordsMax} records`)
    })
})
