import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { describeError } from '../../src/commands/cli.ts'
import { Progress, progressLine } from '../../src/commands/output/progress.ts'
import { formatTable } from '../../src/commands/output/table.ts'

describe('a table', () => {
  const rows = [
    ['ID', 'NAME', 'SCOPES'],
    ['1', 'Zoë', 'pets:read,pets:write,orders:read'],
    ['12', '猫の家', 'pets:read'],
  ]

  test('aligns its columns, also with wide characters', () => {
    assert.equal(
      formatTable(rows),
      'ID  NAME    SCOPES\n1   Zoë     pets:read,pets:write,orders:read\n12  猫の家  pets:read',
    )
  })

  test('fits the width of the terminal', () => {
    const lines = formatTable(rows, 30).split('\n')
    assert.equal(lines[1], '1   Zoë     pets:read,pets:wr…')
    for (const line of lines) assert.ok([...line].length <= 30, line)
  })

  test('contains no control characters', () => {
    assert.equal(formatTable([['a\x1b[31m', 'b\nc']]), 'a\ufffd[31m  b\ufffdc')
  })
})

describe('progress', () => {
  test('shows rate and time left', () => {
    assert.equal(
      progressLine('Importing', 250_000, 'lines', 10, 0.25),
      'Importing: 25 %, 250,000 lines, 25,000 per second, 30 s left',
    )
    assert.match(progressLine('Importing', 1, 'lines', 100, 0.01), /, 2 h 45 min left$/)
    assert.equal(progressLine('Exporting', 5, 'lines', 2, undefined), 'Exporting: 5 lines, 3 per second')
  })

  test('is written to a terminal only, and removed at the end', () => {
    for (const isTTY of [true, false]) {
      const written: string[] = []
      const write = (text: string | Uint8Array) => written.push(String(text)) > 0
      const progress = new Progress('Importing', { isTTY, write })
      progress.show(1, 'lines', 0.5)
      progress.show(2, 'lines', 0.6)
      progress.end()
      assert.equal(written.length, isTTY ? 2 : 0)
      if (isTTY) assert.equal(written[1], '\r\x1b[K')
    }
  })

  test('fits the width of the terminal, so that the next update replaces it', () => {
    const written: string[] = []
    const write = (text: string | Uint8Array) => written.push(String(text)) > 0
    new Progress('Importing', { isTTY: true, columns: 20, write }).show(123_456, 'lines', 0.5)
    assert.equal(written[0], '\r\x1b[KImporting: 50 %, 12')
  })
})

test('an error states its cause once', () => {
  const cause = new Error('database or disk is full')
  const text = 'The change was not accepted (database or disk is full).'
  assert.equal(describeError(new Error('The change was not accepted.', { cause })), text)
  assert.equal(describeError(new Error(text, { cause })), text)
  assert.equal(describeError('text'), 'text')
})
