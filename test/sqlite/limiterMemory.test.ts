import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import type { Database } from '../../src/database/database.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { findLimitState } from '../../src/limits/queries.ts'
import { SqliteRateLimiter } from '../../src/limits/sqliteRateLimiter.ts'
import { TransientLimiter } from '../../src/limits/transientLimiter.ts'
import { dayMs, minuteMs } from '../../src/limits/window.ts'
import { type DatabaseEnv, newDatabase, openTestDatabase, removeDatabase } from '../support/engine.ts'

const start = Date.UTC(2026, 10, 15)
const limits = { perMinute: 10, perDay: 1_000 }
const banAfterRejections = 100

let env: DatabaseEnv
let database: Database
beforeEach(async () => {
  env = await newDatabase()
  database = await openTestDatabase(env, start)
})
afterEach(async () => {
  await database.close()
  await removeDatabase(env)
})

const limiterWith = (keysMax: number) =>
  new SqliteRateLimiter({ database, clock: () => start, banAfterRejections, keysMax })
const keyWith = (id: number) => ({ id, limits, origins: [], unbannedAt: 0 })

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

test('the number of counted addresses is bounded, and the least recently seen are dropped first', () => {
  const limiter = new TransientLimiter<string>(limits, 100)
  const used = (address: string) => limits.perMinute - limiter.peek(address, start).minute.remaining
  let admitted = 0
  for (const number of range(0, 10_000)) {
    limiter.consume(`10.0.0.${number}`, start)
    // An address that keeps sending requests is not dropped, even if they are rejected.
    if (limiter.consume('192.0.2.1', start).outcome === 'admitted') admitted++
  }
  assert.equal(admitted, limits.perMinute)
  const remaining = range(0, 10_000).filter((number) => used(`10.0.0.${number}`) > 0)
  assert.deepEqual(remaining, range(9_901, 10_000))
})

test('the number of keys in memory is bounded once their counts are in the database', async () => {
  const keysMax = 50
  const limiter = limiterWith(keysMax)
  const ids = range(1, 1_001)
  for (const id of ids) {
    await limiter.consume(keyWith(id), start)
    if (id % 20 === 0) await limiter.flush()
  }
  await limiter.flush()
  // The database differs from memory now, so the count shows where it came from.
  await database.write((trx) => trx.updateTable('key_usage').set({ day_used: 500 }).execute())
  let inMemory = 0
  for (const id of ids.toReversed()) {
    const { windows } = await limiter.peek(keyWith(id), start)
    if (windows.day.remaining === limits.perDay - 1) inMemory++
    else assert.equal(windows.day.remaining, limits.perDay - 500)
  }
  assert.ok(inMemory > 0 && inMemory <= keysMax, `${inMemory} were in memory`)
})

test('a key whose count is not in the database yet stays in memory', async () => {
  const limiter = limiterWith(4)
  for (const id of range(1, 101)) await limiter.consume(keyWith(id), start)
  for (const id of range(1, 101)) {
    const { windows } = await limiter.consume(keyWith(id), start)
    assert.equal(windows.minute.remaining, limits.perMinute - 2)
  }
})

test('the open windows of a key are exact after it was evicted from memory and loaded again', async () => {
  const limiter = limiterWith(4)
  for (const _ of range(0, 7)) await limiter.consume(keyWith(1), start)
  await limiter.flush()
  for (const id of range(2, 40)) {
    await limiter.consume(keyWith(id), start + 1)
    await limiter.flush()
  }
  const { windows } = await limiter.consume(keyWith(1), start + 2)
  assert.deepEqual(windows, {
    minute: { limit: 10, remaining: 2, resetsAt: start + minuteMs, isOpen: true },
    day: { limit: 1_000, remaining: 992, resetsAt: start + dayMs, isOpen: true },
  })
})

test('a ban holds after its key was evicted from memory', async () => {
  const limiter = limiterWith(4)
  for (const _ of range(0, limits.perMinute + banAfterRejections)) await limiter.consume(keyWith(1), start)
  await limiter.flush()
  for (const id of range(2, 40)) {
    await limiter.consume(keyWith(id), start + 1)
    await limiter.flush()
  }
  const { outcome, bannedUntil } = await limiter.consume(keyWith(1), start + 2)
  assert.equal(outcome, 'banned')
  assert.equal(bannedUntil, start + 5 * minuteMs)
})

test('requests that race with eviction and flushes are counted exactly', async () => {
  const requests = fc.array(
    fc.record({
      id: fc.integer({ min: 1, max: 8 }),
      next: fc.constantFrom('go on', 'go on', 'turn', 'flush'),
    }),
    { minLength: 50, maxLength: 250, size: 'max' },
  )
  let firstId = 0
  await fc.assert(
    fc.asyncProperty(requests, async (given) => {
      // New keys for every run, in the same database.
      firstId += 10
      const limiter = limiterWith(2)
      const admitted = new Map<number, number>()
      const pending: Promise<unknown>[] = []
      for (const { id, next } of given) {
        const admit = async () => limiter.consume(keyWith(firstId + id), start)
        const admission = admit().then(({ outcome }) => {
          if (outcome === 'admitted') admitted.set(id, (admitted.get(id) ?? 0) + 1)
        })
        pending.push(admission)
        if (next === 'turn') await nextTurn()
        if (next === 'flush') pending.push(limiter.flush())
      }
      await Promise.all(pending)
      await limiter.flush()
      for (const id of range(1, 9)) {
        const requested = given.filter((request) => request.id === id).length
        const expected = Math.min(requested, limits.perMinute)
        assert.equal(admitted.get(id) ?? 0, expected)
        const stored = await findLimitState(database.read, firstId + id)
        assert.equal(stored?.state.minute_used ?? 0, expected)
        assert.equal(stored?.state.rejections ?? 0, requested - expected)
      }
    }),
    { numRuns: 60 },
  )
})

test('concurrent requests are all counted while their key is loaded and evicted', async () => {
  for (let round = 0; round < 50; round++) {
    const limiter = limiterWith(2)
    const key = 1_000 + round
    const others = range(0, 12).map((number) => 2_000 + round * 20 + number)
    await Promise.all([key, ...others, key, ...others, key].map((id) => limiter.consume(keyWith(id), start)))
    const { windows } = await limiter.peek(keyWith(key), start)
    assert.equal(windows.minute.remaining, limits.perMinute - 3)
  }
})

test('flushes that are requested during a flush share the next one', async () => {
  let writes = 0
  const counting: Database = {
    ...database,
    write(work) {
      writes++
      return database.write(work)
    },
  }
  const limiter = new SqliteRateLimiter({ database: counting, clock: () => start, banAfterRejections })
  await limiter.consume(keyWith(1), start)
  const first = limiter.flush()
  await nextTurn()
  // The first flush is running. What is counted now belongs to the next one, which all of these wait for.
  await limiter.consume(keyWith(1), start)
  const others = range(0, 50).map(() => limiter.flush())
  assert.equal(new Set(others).size, 1)
  await Promise.all([first, ...others])
  assert.equal(writes, 2)
  assert.equal((await findLimitState(database.read, 1))?.state.minute_used, 2)
})

test('counts of a database that was replaced are dropped, not written to the new one', async () => {
  let isSame = true
  const limiter = new SqliteRateLimiter({
    database,
    clock: () => start,
    banAfterRejections,
    isSameDatabase: async () => isSame,
  })
  await limiter.consume(keyWith(1), start)
  await limiter.flush()
  for (const _ of range(0, 5)) await limiter.consume(keyWith(1), start)
  isSame = false
  await limiter.flush()
  assert.equal((await findLimitState(database.read, 1))?.state.minute_used, 1)
  const { windows } = await limiter.peek(keyWith(1), start)
  assert.equal(windows.minute.remaining, limits.perMinute - 1)
})

test('a failed flush loses no count: the next one writes it', async () => {
  const limiter = limiterWith(4)
  const other = new DatabaseSync(databaseFile(env.PETSTORE_DATA_DIR))
  other.exec(`CREATE TRIGGER reject_insert BEFORE INSERT ON key_usage BEGIN SELECT RAISE(ABORT, 'no'); END`)
  await limiter.consume(keyWith(1), start)
  await assert.rejects(limiter.flush())
  await limiter.consume(keyWith(1), start)
  other.exec('DROP TRIGGER reject_insert')
  await limiter.flush()
  assert.equal(other.prepare('SELECT minute_used FROM key_usage').get()?.minute_used, 2)
  other.close()
})
