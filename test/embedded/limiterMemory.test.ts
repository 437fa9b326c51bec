import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import type { Database } from '../../src/database/database.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { MemoryCounts } from '../../src/limits/memoryCounts.ts'
import { findUsage } from '../../src/limits/queries.ts'
import { dayMs, minuteMs } from '../../src/limits/window.ts'
import { newStore, openStore, removeStore, type StoreEnv } from '../support/engine.ts'

const start = Date.UTC(2026, 10, 15)
const limits = { perMinute: 10, perDay: 1_000 }
const banAfter = 100

let env: StoreEnv
let database: Database
beforeEach(async () => {
  env = await newStore()
  database = await openStore(env, start)
})
afterEach(async () => {
  await database.close()
  await removeStore(env)
})

const limiterWith = (keysMax: number, addressesMax = keysMax) =>
  new MemoryCounts(database, banAfter, { keysMax, addressesMax })

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

test('of very many addresses no more than the bound are kept, and the least recently seen go first', () => {
  const limiter = limiterWith(1, 100)
  const used = (address: string) =>
    limits.perMinute - limiter.lookAtAddress(address, limits, start).windows.minute.remaining
  let admitted = 0
  for (const number of range(0, 10_000)) {
    limiter.admitAddress(`10.0.0.${number}`, limits, start)
    // Whoever keeps coming is not forgotten, refused or not.
    if (limiter.admitAddress('192.0.2.1', limits, start).outcome === 'admitted') admitted++
  }
  assert.equal(admitted, limits.perMinute)
  const kept = range(0, 10_000).filter((number) => used(`10.0.0.${number}`) > 0)
  assert.deepEqual(kept, range(9_901, 10_000))
})

test('of very many keys no more than the bound stay in memory once they are in the store', async () => {
  const keysMax = 50
  const limiter = limiterWith(keysMax)
  const ids = range(1, 1_001)
  for (const id of ids) {
    await limiter.admitKey(id, limits, 0, start)
    if (id % 20 === 0) await limiter.flush()
  }
  await limiter.flush()
  // What the store says now is other than what memory says, so a look tells where the count came from.
  await database.write((trx) => trx.updateTable('key_usage').set({ day_used: 500 }).execute())
  let inMemory = 0
  for (const id of ids.toReversed()) {
    const { windows } = await limiter.lookAtKey(id, limits, 0, start)
    if (windows.day.remaining === limits.perDay - 1) inMemory++
    else assert.equal(windows.day.remaining, limits.perDay - 500)
  }
  assert.ok(inMemory > 0 && inMemory <= keysMax, `${inMemory} were in memory`)
})

test('a key whose count is not in the store yet stays in memory', async () => {
  const limiter = limiterWith(4)
  for (const id of range(1, 101)) await limiter.admitKey(id, limits, 0, start)
  for (const id of range(1, 101)) {
    const { windows } = await limiter.admitKey(id, limits, 0, start)
    assert.equal(windows.minute.remaining, limits.perMinute - 2)
  }
})

test('the open windows of a key that has left the memory are exact when it returns', async () => {
  const limiter = limiterWith(4)
  for (const _ of range(0, 7)) await limiter.admitKey(1, limits, 0, start)
  await limiter.flush()
  for (const id of range(2, 40)) {
    await limiter.admitKey(id, limits, 0, start + 1)
    await limiter.flush()
  }
  const { windows } = await limiter.admitKey(1, limits, 0, start + 2)
  assert.deepEqual(windows, {
    minute: { limit: 10, remaining: 2, resetsAt: start + minuteMs, isOpen: true },
    day: { limit: 1_000, remaining: 992, resetsAt: start + dayMs, isOpen: true },
  })
})

test('a ban outlives its absence from memory', async () => {
  const limiter = limiterWith(4)
  for (const _ of range(0, limits.perMinute + banAfter)) await limiter.admitKey(1, limits, 0, start)
  await limiter.flush()
  for (const id of range(2, 40)) {
    await limiter.admitKey(id, limits, 0, start + 1)
    await limiter.flush()
  }
  const { outcome, bannedUntil } = await limiter.admitKey(1, limits, 0, start + 2)
  assert.equal(outcome, 'banned')
  assert.equal(bannedUntil, start + 5 * minuteMs)
})

test('requests that race with eviction and with writing are counted exactly', async () => {
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
      // Fresh keys for every run, in the one store.
      firstId += 10
      const limiter = limiterWith(2)
      const admitted = new Map<number, number>()
      const pending: Promise<unknown>[] = []
      for (const { id, next } of given) {
        const admit = async () => limiter.admitKey(firstId + id, limits, 0, start)
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
        const asked = given.filter((request) => request.id === id).length
        const expected = Math.min(asked, limits.perMinute)
        assert.equal(admitted.get(id) ?? 0, expected)
        const stored = await findUsage(database.read, firstId + id)
        assert.equal(stored?.usage.minuteUsed ?? 0, expected)
        assert.equal(stored?.usage.refusals ?? 0, asked - expected)
      }
    }),
    { numRuns: 60 },
  )
})

test('two requests of one key that load it at the same time as others push it out are both counted', async () => {
  for (let round = 0; round < 50; round++) {
    const limiter = limiterWith(2)
    const key = 1_000 + round
    const others = range(0, 12).map((number) => 2_000 + round * 20 + number)
    await Promise.all(
      [key, ...others, key, ...others, key].map((id) => limiter.admitKey(id, limits, 0, start)),
    )
    const { windows } = await limiter.lookAtKey(key, limits, 0, start)
    assert.equal(windows.minute.remaining, limits.perMinute - 3)
  }
})

test('whoever asks for the counts to be written while they are being written shares the next round', async () => {
  let writes = 0
  const counting: Database = {
    ...database,
    write(work) {
      writes++
      return database.write(work)
    },
  }
  const limiter = new MemoryCounts(counting, banAfter)
  await limiter.admitKey(1, limits, 0, start)
  const first = limiter.flush()
  await nextTurn()
  // The first round is under way: what is counted now is for the next one, and all of these wait for that one.
  await limiter.admitKey(1, limits, 0, start)
  const others = range(0, 50).map(() => limiter.flush())
  assert.equal(new Set(others).size, 1)
  await Promise.all([first, ...others])
  assert.equal(writes, 2)
  assert.equal((await findUsage(database.read, 1))?.usage.minuteUsed, 2)
})

test('counts of another store are not written into the one that took its place, but forgotten', async () => {
  let isSame = true
  const limiter = new MemoryCounts(database, banAfter, undefined, async () => isSame)
  await limiter.admitKey(1, limits, 0, start)
  await limiter.flush()
  for (const _ of range(0, 5)) await limiter.admitKey(1, limits, 0, start)
  isSame = false
  await limiter.flush()
  assert.equal((await findUsage(database.read, 1))?.usage.minuteUsed, 1)
  const { windows } = await limiter.lookAtKey(1, limits, 0, start)
  assert.equal(windows.minute.remaining, limits.perMinute - 1)
})

test('a store that refuses a write loses no count: the next one brings it', async () => {
  const limiter = limiterWith(4)
  const meddler = new DatabaseSync(databaseFile(env.PETSTORE_DATA_DIR))
  meddler.exec(`CREATE TRIGGER refusal BEFORE INSERT ON key_usage BEGIN SELECT RAISE(ABORT, 'no'); END`)
  await limiter.admitKey(1, limits, 0, start)
  await assert.rejects(limiter.flush())
  await limiter.admitKey(1, limits, 0, start)
  meddler.exec('DROP TRIGGER refusal')
  await limiter.flush()
  assert.equal(meddler.prepare('SELECT minute_used FROM key_usage').get()?.minute_used, 2)
  meddler.close()
})
