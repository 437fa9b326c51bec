import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { linearize } from '../../reliability/histories/check/linearize.ts'

describe('the search for an order', () => {
  /** A register: writes, and reads with the value that they got. */
  const write = (startedAt: number, endedAt: number, value: number) => ({
    startedAt,
    endedAt,
    apply: () => value,
  })
  const read = (startedAt: number, endedAt: number, value: number) => ({
    startedAt,
    endedAt,
    apply: (state: number) => (state === value ? state : undefined),
  })
  const search = (operations: ReturnType<typeof read>[], stepsMax?: number) =>
    linearize(operations, 0 as number, String, stepsMax).result

  test('finds one among many writes at the same time', () => {
    const writes = Array.from({ length: 8 }, (_, n) => write(0, 100, n + 1))
    const reads = [3, 8, 1, 7].map((value, n) => read(10 + 10 * n, 15 + 10 * n, value))
    assert.equal(search([...writes, ...reads]), 'found')
    assert.equal(search([...writes, ...reads, read(80, 81, 3)]), 'none')
  })

  test('takes writes without an end at any later time, or not at all', () => {
    const open = Array.from({ length: 8 }, (_, n) => write(0, Number.POSITIVE_INFINITY, n + 1))
    assert.equal(search([...open, read(50, 51, 0), read(60, 61, 5), read(70, 71, 8)]), 'found')
    assert.equal(search([...open, read(60, 61, 5), read(70, 71, 0)]), 'none')
  })

  test('ends at its bound', () => {
    const writes = Array.from({ length: 12 }, (_, n) => write(0, 100, n + 1))
    assert.equal(search([...writes, read(101, 102, 99)], 1_000), 'undecided')
  })
})
