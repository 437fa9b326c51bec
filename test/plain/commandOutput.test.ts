import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { describeError } from '../../src/commands/cli.ts'
import { formatKeys } from '../../src/commands/keys.ts'
import { Progress, progressLine } from '../../src/commands/output/progress.ts'
import { formatTable } from '../../src/commands/output/table.ts'
import { type Key, scopes } from '../../src/keys/key.ts'

describe('a table', () => {
  const headings = ['ID', 'NAME', 'SCOPES']
  const rows = [
    ['1', 'Zoë', 'pets:read,pets:write,orders:read'],
    ['12', '猫の家', 'pets:read'],
  ]

  test('aligns its columns, also with wide characters', () => {
    const table = 'ID  NAME    SCOPES\n1   Zoë     pets:read,pets:write,orders:read\n12  猫の家  pets:read'
    assert.equal(formatTable(headings, rows), table)
    assert.equal(formatTable(headings, rows, 44), table)
  })

  test('is a block for each row if it does not fit the width of the terminal', () => {
    assert.equal(
      formatTable(headings, rows, 43),
      [
        '1   NAME    Zoë',
        '    SCOPES  pets:read,pets:write,',
        '            orders:read',
        '',
        '12  NAME    猫の家',
        '    SCOPES  pets:read',
      ].join('\n'),
    )
  })

  test('wraps the lines of a block, and leaves whole what cannot be wrapped', () => {
    const row = ['1', 'A name of many words', 'pets:read,https://www.shelter.example']
    assert.equal(
      formatTable(headings, [row], 24),
      [
        '1   NAME    A name of',
        '            many words',
        '    SCOPES  pets:read,',
        '            https://www.shelter.example',
      ].join('\n'),
    )
  })

  test('contains no control characters', () => {
    assert.equal(formatTable(['A', 'B'], [['a\x1b[31m', 'b\nc']]), 'A       B\na\ufffd[31m  b\ufffdc')
  })
})

test('a list of keys shows everything of each key on narrow and wide terminals', () => {
  const at = Date.UTC(2027, 0, 31, 12)
  const key: Key = {
    id: 12,
    name: 'The web site of the animal shelter in Springfield, with its mobile application',
    plan: 'enterprise',
    limits: { perMinute: 1_000_000, perDay: 100_000_000 },
    scopes: ['pets:read', 'categories:read', 'orders:read'],
    origins: ['https://www.shelter.example', 'https://adoptions.shelter.example'],
    createdAt: 0,
    expiresAt: at + 2,
    lastUsedAt: at,
    revokedAt: undefined,
    bannedUntil: at + 1,
  }
  const operatorKey = { ...key, id: 1, name: 'operator', scopes, origins: [], bannedUntil: undefined }
  for (const width of [60, 80, 120, 500]) {
    const shown = formatKeys([key, operatorKey], at, width)
    for (const line of shown.split('\n')) assert.ok(line.length <= width, line)
    const words = shown.replaceAll(/\s+/g, ' ')
    for (const text of [key.name, ...scopes, ...key.origins, '1000000/min 100000000/day 1000 streams'])
      assert.ok(words.includes(text), `${text} at ${width}`)
    for (const time of [at, at + 1, at + 2]) assert.ok(words.includes(new Date(time).toISOString()))
  }
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
      progress[Symbol.dispose]()
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
