import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { createLog } from '../../src/telemetry/log.ts'

/** An error as the driver of PostgreSQL makes it of a response of the server. */
function databaseError(message: string, fields: Record<string, string>): Error {
  return Object.assign(new pg.DatabaseError(message, 100, 'error'), { severity: 'ERROR', ...fields })
}

function lineOf(error: unknown, format: 'json' | 'text'): string {
  const lines: string[] = []
  const stream = { write: (line: string) => void lines.push(line) }
  createLog({ level: 'info', redact: (text) => text, format, stream }).log.error({ err: error }, 'failed')
  return lines.join('')
}

const value = 'Ada Example, whsec_abc'
const rejectedRow = databaseError('new row for relation "orders" violates check constraint "positive"', {
  code: '23514',
  detail: `Failing row contains (1, ${value}).`,
  where: `SQL statement "INSERT INTO orders VALUES ('${value}')"`,
  internalQuery: `SELECT '${value}'`,
  hint: `Not ${value}.`,
  table: 'orders',
  constraint: 'positive',
})
const invalidValue = databaseError(`invalid input syntax for type bigint: "${value}"`, { code: '22P02' })

describe('an error of PostgreSQL is logged without values of rows', () => {
  for (const format of ['json', 'text'] as const) {
    for (const [name, error] of [
      ['of a row that is rejected', rejectedRow],
      ['of a value that is not valid', invalidValue],
      ['as the cause of another error', new Error('The change failed.', { cause: rejectedRow })],
      ['of an invalid value as the cause of another error', new Error('Failed.', { cause: invalidValue })],
      ['as one of several errors', new AggregateError([rejectedRow, invalidValue], 'Both failed.')],
    ] as const)
      test(`${name}, as ${format}`, () => {
        const line = lineOf(error, format)
        assert.ok(!line.includes(value), line)
        assert.match(line, /violates check constraint|invalid input syntax for type bigint|Both failed/)
      })
  }

  test('and with what finds the fault: code, table, constraint and stack', () => {
    const { err } = JSON.parse(lineOf(rejectedRow, 'json'))
    assert.deepEqual([err.code, err.table, err.constraint], ['23514', 'orders', 'positive'])
    assert.match(err.stack, /logErrors\.test\.ts/)
  })
})

test('an error of the system keeps its code and call', () => {
  const error = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' })
  const { err } = JSON.parse(lineOf(error, 'json'))
  assert.deepEqual([err.type, err.code, err.syscall], ['Error', 'ECONNREFUSED', 'connect'])
})
