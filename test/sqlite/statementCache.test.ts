import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { SqliteDb } from '../../src/database/sqlite/driver.ts'

/** A connection, and how often each text was prepared. */
function connectionFor(t: TestContext) {
  const connection = new DatabaseSync(':memory:')
  t.after(() => connection.close())
  const prepared = new Map<string, number>()
  const { prepare } = connection
  t.mock.method(connection, 'prepare', (text: string) => {
    prepared.set(text, (prepared.get(text) ?? 0) + 1)
    return prepare.call(connection, text)
  })
  const { sqlite } = new SqliteDb(connection)
  const run = (text: string) => sqlite.execute<{ n: number }>(text, []).rows[0]?.n
  return { run, prepared }
}

const numbered = (n: number, length = 0) => `SELECT ${n} AS n --${' '.repeat(length)}`

test('a statement that is used again and again stays prepared while others are executed', (t) => {
  const { run, prepared } = connectionFor(t)
  for (let n = 1; n <= 2_000; n++) {
    assert.equal(run(numbered(n)), n)
    assert.equal(run(numbered(0)), 0)
  }
  assert.equal(prepared.get(numbered(0)), 1)
})

/** How many of the newest statements are still prepared. */
function countKept(t: TestContext, length: number): number {
  const { run, prepared } = connectionFor(t)
  const count = 1_000
  for (let n = 1; n <= count; n++) run(numbered(n, length))
  const before = [...prepared.values()].reduce((sum, times) => sum + times)
  let kept = 0
  while (kept < count) {
    run(numbered(count - kept, length))
    if ([...prepared.values()].reduce((sum, times) => sum + times) > before) break
    kept++
  }
  return kept
}

test('the number of prepared statements is bounded', (t) => {
  assert.equal(countKept(t, 0), 256)
})

test('the total text of prepared statements is bounded', (t) => {
  assert.ok(countKept(t, 10_000) * 10_000 <= 128 * 1024)
  assert.ok(countKept(t, 10_000) > 10)
})

test('a statement longer than the bound is executed and not kept', (t) => {
  const { run, prepared } = connectionFor(t)
  const long = numbered(7, 300 * 1024)
  assert.equal(run(numbered(1)), 1)
  assert.equal(run(long), 7)
  assert.equal(run(long), 7)
  assert.equal(prepared.get(long), 2)
  assert.equal(run(numbered(1)), 1)
})
