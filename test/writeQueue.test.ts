import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import type { Kysely } from 'kysely'
import { type Database, SchemaTooNewError, StoreUnavailableError } from '../src/database/database.ts'
import { openMigrated } from '../src/database/open.ts'
import { databaseFile } from '../src/database/sqlite.ts'
import type { Tables } from '../src/database/tables.ts'
import { eventually } from './support/eventually.ts'
import { runPetstore } from './support/process.ts'
import { folderFor } from './support/servers.ts'
import { startTestService } from './support/service.ts'
import { holdWriteLock } from './support/writeLock.ts'

/** How long a write waits for another process to let go. */
const lockWaitMaxMs = 5_000
const slackMs = 2_000
const writesWaitingMax = 10_000

async function storeFor(t: TestContext): Promise<Database & { dataDir: string; commits(): number }> {
  const dataDir = folderFor(t)
  const database = await openMigrated(dataDir, 0)
  t.after(() => database.close())
  return { ...database, dataDir, commits: () => countCommits(`${databaseFile(dataDir)}-wal`) }
}

/** In the log of SQLite the last frame of a commit has the size of the store, and every other frame zero. */
function countCommits(walFile: string): number {
  const wal = readFileSync(walFile)
  const frameBytes = 24 + wal.readUInt32BE(8)
  let commits = 0
  for (let at = 32; at + frameBytes <= wal.length; at += frameBytes)
    if (wal.readUInt32BE(at + 4) > 0) commits++
  return commits
}

const addCategory = (id: number) => async (trx: Kysely<Tables>) => {
  await trx
    .insertInto('categories')
    .values({ category_id: BigInt(id), name: null })
    .execute()
  return id
}

const categories = async (database: Database) =>
  (await database.read.selectFrom('categories').select('category_id').orderBy('category_id').execute()).map(
    (row) => Number(row.category_id),
  )

describe('a unit that fails leaves nothing behind and does not touch its neighbours in the same commit', () => {
  const failures: [name: string, fail: (trx: Kysely<Tables>) => Promise<unknown>, message: RegExp][] = [
    [
      'by an error of its own',
      async (trx) => {
        await addCategory(100)(trx)
        throw new Error('changed my mind')
      },
      /^changed my mind$/,
    ],
    [
      'before its first wait',
      () => {
        throw new Error('at once')
      },
      /^at once$/,
    ],
    [
      'by a value that is there already',
      async (trx) => {
        await addCategory(100)(trx)
        await addCategory(1)(trx)
      },
      /UNIQUE/,
    ],
    [
      'by a reference to nothing',
      async (trx) => {
        await addCategory(100)(trx)
        await trx.insertInto('pets').values({ name: 'x', category_id: 99n, status: 'available' }).execute()
      },
      /FOREIGN KEY/,
    ],
    [
      'by a statement that is none',
      async (trx) => {
        await addCategory(100)(trx)
        await trx
          .insertInto('nowhere' as 'pets')
          .values({ name: 'x', category_id: 1n, status: 'x' })
          .execute()
      },
      /no such table/,
    ],
  ]
  for (const [name, fail, message] of failures) {
    test(name, async (t) => {
      const store = await storeFor(t)
      const before = store.commits()
      const results = await Promise.allSettled([
        store.write(addCategory(1)),
        store.write(addCategory(2)),
        store.write(fail as never),
        store.write(addCategory(3)),
        store.write(addCategory(4)),
      ])
      assert.deepEqual(
        results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed')),
        [1, 2, 'failed', 3, 4],
      )
      assert.match((results[2] as PromiseRejectedResult).reason.message, message)
      assert.equal(store.commits(), before + 1, 'all of them were in one commit')
      assert.deepEqual(await categories(store), [1, 2, 3, 4])
      assert.equal(await store.write(addCategory(5)), 5, 'and the queue goes on')
    })
  }

  test('also when every unit of a commit fails', async (t) => {
    const store = await storeFor(t)
    const failing = Array.from({ length: 10 }, () =>
      store.write(async (trx) => {
        await addCategory(1)(trx)
        throw new Error('no')
      }),
    )
    for (const result of await Promise.allSettled(failing)) assert.equal(result.status, 'rejected')
    assert.deepEqual(await categories(store), [])
  })
})

test('units run one after another, in the order in which they came', async (t) => {
  const store = await storeFor(t)
  const seen: string[] = []
  await Promise.all(
    [1, 2, 3].map((id) =>
      store.write(async (trx) => {
        seen.push(`begin ${id}`)
        await addCategory(id)(trx)
        await trx.selectFrom('categories').selectAll().execute()
        seen.push(`end ${id}`)
      }),
    ),
  )
  assert.deepEqual(seen, ['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3'])
})

test('what a unit has written is seen by nobody before it is on disk', async (t) => {
  const store = await storeFor(t)
  let inside: number[] = []
  await store.write(async (trx) => {
    await addCategory(1)(trx)
    inside = await categories(store)
  })
  assert.deepEqual(inside, [])
  assert.deepEqual(await categories(store), [1])
})

test('a later unit of the same commit sees what an earlier one did', async (t) => {
  const store = await storeFor(t)
  const [, seen] = await Promise.all([
    store.write(addCategory(7)),
    store.write(async (trx) => trx.selectFrom('categories').select('category_id').execute()),
  ])
  assert.deepEqual(
    seen.map((row) => row.category_id),
    [7n],
  )
})

test('more units than one commit takes are all done', async (t) => {
  const store = await storeFor(t)
  const ids = Array.from({ length: 1_000 }, (_, index) => index + 1)
  assert.deepEqual(await Promise.all(ids.map((id) => store.write(addCategory(id)))), ids)
  assert.deepEqual(await categories(store), ids)
})

test('closing waits for what is waiting to be written', async (t) => {
  const dataDir = folderFor(t)
  const store = await openMigrated(dataDir, 0)
  const writes = [1, 2, 3].map((id) => store.write(addCategory(id)))
  await store.close()
  assert.deepEqual(await Promise.all(writes), [1, 2, 3])
  const again = await openMigrated(dataDir, 0)
  assert.deepEqual(await categories(again), [1, 2, 3])
  await again.close()
})

test('writes that wait for the lock of another process hold up neither reads nor the event loop', async (t) => {
  const store = await storeFor(t)
  await store.write(addCategory(1))
  const lock = await holdWriteLock(t, databaseFile(store.dataDir))
  let isDone = false
  const write = store.write(addCategory(2)).then(() => {
    isDone = true
  })
  const idle = performance.eventLoopUtilization()
  let reads = 0
  await eventually('reads go on', async () => {
    assert.deepEqual(await categories(store), [1])
    return ++reads >= 50
  })
  const { utilization } = performance.eventLoopUtilization(idle)
  assert.ok(!isDone)
  assert.ok(utilization < 0.5, `the event loop was held ${utilization} of the time`)
  await lock.release()
  await write
  assert.deepEqual(await categories(store), [1, 2])
})

describe('while another process has the write lock', { concurrency: true }, () => {
  test('after the bound every write that waits is refused, and nothing of it is done; then all is well again', async (t) => {
    const store = await storeFor(t)
    const lock = await holdWriteLock(t, databaseFile(store.dataDir))
    const since = performance.now()
    // More than one commit takes: none of them waits for a second bound.
    const writes = Array.from({ length: 600 }, (_, id) => store.write(addCategory(id)))
    for (const result of await Promise.allSettled(writes)) {
      assert.equal(result.status, 'rejected')
      assert.ok(result.reason instanceof StoreUnavailableError)
    }
    const waitedMs = performance.now() - since
    assert.ok(waitedMs > lockWaitMaxMs - slackMs && waitedMs < lockWaitMaxMs + slackMs, `${waitedMs} ms`)
    assert.deepEqual(await categories(store), [])
    await lock.release()
    assert.equal(await store.write(addCategory(1)), 1)
    assert.deepEqual(await categories(store), [1])
  })

  test('no more writes wait than the bound, and the one too many is refused at once', async (t) => {
    const store = await storeFor(t)
    const lock = await holdWriteLock(t, databaseFile(store.dataDir))
    const writes = Array.from({ length: writesWaitingMax }, (_, id) => store.write(addCategory(id)))
    await assert.rejects(store.write(addCategory(-1)), StoreUnavailableError)
    await lock.release()
    assert.equal((await Promise.all(writes)).length, writesWaitingMax)
    assert.equal((await categories(store)).length, writesWaitingMax)
  })

  test('a service answers reads, answers writes 503 after the bound, and recovers without a restart', async (t) => {
    const service = await startTestService()
    try {
      const key = service.operatorKey
      const add = (name: string, headers = {}) =>
        service.request('POST', '/v1/pets', { key, body: { name, categoryId: 1 }, headers })
      assert.equal((await add('before')).status, 201)
      const lock = await holdWriteLock(t, databaseFile(service.dataDir))
      let isOver = false
      const refused = Promise.all([
        add('during'),
        add('during, safely', { 'idempotency-key': 'one' }),
      ]).finally(() => {
        isOver = true
      })
      let reads = 0
      while (!isOver) {
        assert.equal((await service.request('GET', '/v1/pets', { key })).status, 200)
        assert.equal((await service.request('GET', '/readyz')).status, 200)
        if (++reads >= 3_000) break
      }
      for (const answer of await refused) {
        assert.equal(answer.status, 503)
        assert.equal(answer.json.code, 'unavailable')
        assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d*$/)
        assert.ok(answer.headers['x-ratelimit-limit'])
        assert.doesNotMatch(answer.text, /sqlite|lock|SQL/i)
      }
      assert.ok(reads > 20)
      await lock.release()
      const retried = await add('during, safely', { 'idempotency-key': 'one' })
      assert.equal(retried.status, 201)
      assert.equal(
        retried.headers['idempotent-replayed'],
        undefined,
        'the refusal was not kept as the answer',
      )
      const { json } = await service.request('GET', '/v1/pets', { key })
      assert.deepEqual(
        json.map(({ name }: { name: string }) => name),
        ['during, safely', 'before'],
      )
    } finally {
      await service.stop()
    }
  })

  test('a command ends with status 1 after the bound, having done nothing', async (t) => {
    const store = await storeFor(t)
    const lock = await holdWriteLock(t, databaseFile(store.dataDir))
    const seed = () => runPetstore(['seed', '--count', '3'], { PETSTORE_DATA_DIR: store.dataDir })
    const { code, stdout, stderr } = await seed()
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.match(stderr, /^The store did not take the change[^\n]*\n$/)
    assert.deepEqual(await categories(store), [])
    await lock.release()
    assert.equal((await seed()).stdout, 'Added 3 animals.\n')
  })
})

describe('a store of a newer version', () => {
  const tooNew = async (t: TestContext): Promise<string> => {
    const dataDir = folderFor(t)
    await (await openMigrated(dataDir, 0)).close()
    const store = new DatabaseSync(databaseFile(dataDir))
    store.exec("INSERT INTO schema_migrations VALUES (1000, 'from the future', 0)")
    store.close()
    return dataDir
  }

  test('is not opened, and not changed', async (t) => {
    const dataDir = await tooNew(t)
    await assert.rejects(openMigrated(dataDir, 0), SchemaTooNewError)
    const store = new DatabaseSync(databaseFile(dataDir))
    assert.equal(store.prepare('SELECT max(version) AS newest FROM schema_migrations').get()?.newest, 1000)
    store.close()
  })

  for (const args of [['serve'], ['keys', 'list'], ['export']]) {
    test(`is refused by ${args.join(' ')} with a clear message`, async (t) => {
      const { code, stdout, stderr } = await runPetstore(args, {
        PORT: '0',
        PETSTORE_DATA_DIR: await tooNew(t),
      })
      assert.equal(code, 1)
      assert.equal(stdout, '')
      assert.match(
        stderr,
        /^The store has schema version 1000, but .* run the newer version that wrote it\.\n$/,
      )
    })
  }
})
