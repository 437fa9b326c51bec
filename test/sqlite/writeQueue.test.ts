import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { type Database, DatabaseUnavailableError } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { databaseFile } from '../../src/database/sqlite/open.ts'
import { addCategory, categories } from '../support/categories.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { runPetstore } from '../support/process.ts'
import { holdWriteLock } from '../support/writeLock.ts'

/** How long a write waits for the lock of another process. */
const lockWaitMaxMs = 5_000
const slackMs = 2_000
const writesWaitingMax = 10_000

async function embeddedDatabaseFor(t: TestContext): Promise<Database & { dataDir: string }> {
  const { env, database } = await openDatabaseFor(t)
  return { ...database, dataDir: env.PETSTORE_DATA_DIR }
}

test('writes that wait for the lock of another process block neither reads nor the event loop', async (t) => {
  const database = await embeddedDatabaseFor(t)
  await database.write(addCategory(1))
  const lock = await holdWriteLock(t, databaseFile(database.dataDir))
  let isDone = false
  const write = database.write(addCategory(2)).then(() => {
    isDone = true
  })
  const idle = performance.eventLoopUtilization()
  let reads = 0
  await eventually('reads are served', async () => {
    assert.deepEqual(await categories(database), [1])
    return ++reads >= 20
  })
  const { utilization } = performance.eventLoopUtilization(idle)
  assert.ok(!isDone)
  assert.ok(utilization < 0.5, `the event loop was blocked ${utilization} of the time`)
  await lock.release()
  await write
  assert.deepEqual(await categories(database), [1, 2])
})

describe('while another process holds the write lock', { concurrency: true }, () => {
  test('after the bound every waiting write is rejected without an effect; later writes succeed', async (t) => {
    const database = await embeddedDatabaseFor(t)
    const lock = await holdWriteLock(t, databaseFile(database.dataDir))
    const since = performance.now()
    // More than fit into one commit. All share one wait.
    const writes = Array.from({ length: 600 }, (_, id) => database.write(addCategory(id)))
    for (const result of await Promise.allSettled(writes)) {
      assert.equal(result.status, 'rejected')
      assert.ok(result.reason instanceof DatabaseUnavailableError)
    }
    const waitedMs = performance.now() - since
    assert.ok(waitedMs > lockWaitMaxMs - slackMs && waitedMs < lockWaitMaxMs + slackMs, `${waitedMs} ms`)
    assert.deepEqual(await categories(database), [])
    await lock.release()
    assert.equal(await database.write(addCategory(1)), 1)
    assert.deepEqual(await categories(database), [1])
  })

  test('the number of waiting writes is bounded, and the next one is rejected immediately', async (t) => {
    const database = await embeddedDatabaseFor(t)
    const lock = await holdWriteLock(t, databaseFile(database.dataDir))
    const writes = Array.from({ length: writesWaitingMax }, (_, id) => database.write(addCategory(id)))
    await assert.rejects(database.write(addCategory(-1)), DatabaseUnavailableError)
    await lock.release()
    assert.equal((await Promise.all(writes)).length, writesWaitingMax)
    assert.equal((await categories(database)).length, writesWaitingMax)
  })

  test('a command exits with status 1 after the bound, without an effect', async (t) => {
    const database = await embeddedDatabaseFor(t)
    const lock = await holdWriteLock(t, databaseFile(database.dataDir))
    const seed = () => runPetstore(['seed', '--count', '3'], { PETSTORE_DATA_DIR: database.dataDir })
    const { code, stdout, stderr } = await seed()
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.match(stderr, /^The database did not accept the change[^\n]*\n$/)
    assert.deepEqual(await categories(database), [])
    await lock.release()
    assert.equal((await seed()).stdout, 'Added 3 animals.\n')
  })
})

/** In the WAL the last frame of a commit has the size of the database, every other frame zero. */
function commitsInWal(walFile: string): number {
  const wal = readFileSync(walFile)
  const frameBytes = 24 + wal.readUInt32BE(8)
  let commits = 0
  for (let at = 32; at + frameBytes <= wal.length; at += frameBytes)
    if (wal.readUInt32BE(at + 4) > 0) commits++
  return commits
}

test('jobs that are queued together share one commit, also if one of them fails', async (t) => {
  const opened = await embeddedDatabaseFor(t)
  const walFile = `${databaseFile(opened.dataDir)}-wal`
  await opened.write(addCategory(50))
  const before = commitsInWal(walFile)
  const failing = opened.write(async (trx) => {
    await addCategory(100)(trx)
    throw new Error('changed my mind')
  })
  const results = await Promise.allSettled([
    opened.write(addCategory(1)),
    failing,
    opened.write(addCategory(2)),
  ])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.equal(commitsInWal(walFile), before + 1)
  assert.deepEqual(await categories(opened), [1, 2, 50])
})

describe('a job in the same commit as one that fails', () => {
  async function runsBeside(t: TestContext, fail: (trx: Trx) => Promise<void>) {
    const opened = await embeddedDatabaseFor(t)
    const runs: [number, number] = [0, 0]
    const neighbour = (n: 0 | 1) =>
      opened.write(async (trx) => {
        runs[n]++
        return addCategory(n + 1)(trx)
      })
    const results = [neighbour(0), opened.write(fail), neighbour(1)]
    assert.deepEqual(
      (await Promise.allSettled(results)).map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(await categories(opened), [1, 2])
    return runs
  }

  test('before it has changed anything is not run again', async (t) => {
    const runs = await runsBeside(t, async (trx) => {
      await trx.selectFrom('categories').selectAll().execute()
      throw new Error('not found')
    })
    assert.deepEqual(runs, [1, 1])
  })

  test('after that is run again if it came before', async (t) => {
    const runs = await runsBeside(t, async (trx) => {
      await trx.updateTable('categories').set({ name: 'changed' }).execute()
      throw new Error('changed my mind')
    })
    assert.deepEqual(runs, [2, 1])
  })
})

test('jobs run one after another, in order', async (t) => {
  const opened = await embeddedDatabaseFor(t)
  const seen: string[] = []
  await Promise.all(
    [1, 2, 3].map((id) =>
      opened.write(async (trx) => {
        seen.push(`begin ${id}`)
        await addCategory(id)(trx)
        await trx.selectFrom('categories').selectAll().execute()
        seen.push(`end ${id}`)
      }),
    ),
  )
  assert.deepEqual(seen, ['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3'])
})

test('a later job of the same commit sees the changes of an earlier one', async (t) => {
  const opened = await embeddedDatabaseFor(t)
  const [, seen] = await Promise.all([
    opened.write(addCategory(7)),
    opened.write(async (trx) => trx.selectFrom('categories').select('category_id').execute()),
  ])
  assert.deepEqual(
    seen.map((row) => row.category_id),
    [7n],
  )
})
