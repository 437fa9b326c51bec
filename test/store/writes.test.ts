import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { DatabaseUnavailableError } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { recordEvents } from '../../src/events/queries.ts'
import { addCategory, categories } from '../support/categories.ts'
import {
  databaseFor,
  engine,
  holdWriteLockOf,
  inDatabase,
  openDatabaseFor,
  openTestDatabase,
} from '../support/engine.ts'
import { SuiteCleanup } from '../support/servers.ts'
import { startTestService } from '../support/service.ts'

async function openedFor(t: Pick<TestContext, 'after'>) {
  const { env, database } = await openDatabaseFor(t)
  return { ...database, env }
}

describe('a write that fails changes nothing and does not affect other writes', () => {
  const failures: [name: string, fail: (trx: Trx) => Promise<unknown>, message: RegExp][] = [
    [
      'by an error of the handler',
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
        await addCategory(0)(trx)
      },
      /unique/i,
    ],
    [
      'by a reference to nothing',
      async (trx) => {
        await addCategory(100)(trx)
        await trx.insertInto('pets').values({ name: 'x', category_id: 99n, status: 'available' }).execute()
      },
      /foreign key/i,
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
      /no such table|does not exist/,
    ],
  ]
  let opened: Awaited<ReturnType<typeof openedFor>>
  const lasting = new SuiteCleanup()
  before(async () => {
    opened = await openedFor(lasting)
    await opened.write(addCategory(0))
  })
  after(() => lasting.end())

  for (const [index, [name, fail, message]] of failures.entries()) {
    test(name, async () => {
      const before = await categories(opened)
      const ids = [1, 2, 3, 4, 5].map((n) => index * 5 + n) as [number, number, number, number, number]
      // PostgreSQL runs them in any order.
      const results = await Promise.allSettled([
        opened.write(addCategory(ids[0])),
        opened.write(addCategory(ids[1])),
        opened.write(fail as never),
        opened.write(addCategory(ids[2])),
        opened.write(addCategory(ids[3])),
      ])
      assert.deepEqual(
        results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed')),
        [ids[0], ids[1], 'failed', ids[2], ids[3]],
      )
      assert.match((results[2] as PromiseRejectedResult).reason.message, message)
      assert.deepEqual(await categories(opened), [...before, ...ids.slice(0, 4)])
      assert.equal(await opened.write(addCategory(ids[4])), ids[4], 'and later writes succeed')
    })
  }

  test('also if all of them fail', async () => {
    const before = await categories(opened)
    const failing = Array.from({ length: 10 }, () =>
      opened.write(async (trx) => {
        await addCategory(100)(trx)
        throw new Error('no')
      }),
    )
    for (const result of await Promise.allSettled(failing)) assert.equal(result.status, 'rejected')
    assert.deepEqual(await categories(opened), before)
  })
})

test('changes of a job are not visible before they are on disk', async (t) => {
  const opened = await openedFor(t)
  let inside: number[] = []
  await opened.write(async (trx) => {
    await addCategory(1)(trx)
    inside = await categories(opened)
  })
  assert.deepEqual(inside, [])
  assert.deepEqual(await categories(opened), [1])
})

test('many writes at once are all done', async (t) => {
  const opened = await openedFor(t)
  // On SQLite more than fit in one commit, on PostgreSQL more than run at the same time.
  const ids = Array.from({ length: engine === 'sqlite' ? 600 : 100 }, (_, index) => index + 1)
  assert.deepEqual(await Promise.all(ids.map((id) => opened.write(addCategory(id)))), ids)
  assert.deepEqual(await categories(opened), ids)
})

test('a function that writes does not take what only reads', async (t) => {
  const { read } = await openedFor(t)
  // @ts-expect-error The compiler rejects it before it runs.
  await assert.rejects(async () => recordEvents(read, 0, [{ type: 'pet.deleted', data: { id: 1 } }]))
  assert.deepEqual(await read.selectFrom('events').select('id').execute(), [])
})

test('closing waits for queued writes', async (t) => {
  const env = await databaseFor(t)
  const database = await openTestDatabase(env)
  const writes = [1, 2, 3].map((id) => database.write(addCategory(id)))
  await database.close()
  assert.deepEqual(await Promise.all(writes), [1, 2, 3])
  assert.deepEqual(await inDatabase(env, categories), [1, 2, 3])
})

describe('while another process holds the write lock', { concurrency: true }, () => {
  test('reads continue; every queued write is rejected without a change; then writes work again', async (t) => {
    const opened = await openedFor(t)
    const other = await holdWriteLockOf(opened.env)
    // More than fit in one commit: none of them waits a second time.
    const writes = Promise.allSettled(Array.from({ length: 600 }, (_, id) => opened.write(addCategory(id))))
    assert.deepEqual(await categories(opened), [])
    for (const result of await writes) {
      assert.equal(result.status, 'rejected')
      assert.ok(result.reason instanceof DatabaseUnavailableError)
    }
    assert.deepEqual(await categories(opened), [])
    await other.release()
    assert.equal(await opened.write(addCategory(1)), 1)
    assert.deepEqual(await categories(opened), [1])
  })

  test('a service serves reads, rejects writes with 503 after the time limit, and recovers without a restart', async () => {
    const service = await startTestService()
    try {
      const key = service.operatorKey
      const add = (name: string, headers = {}) =>
        service.request('POST', '/v1/pets', { key, body: { name, categoryId: 1 }, headers })
      assert.equal((await add('before')).status, 201)
      const lock = await holdWriteLockOf(service.databaseEnv)
      let isOver = false
      const rejected = Promise.all([
        add('during'),
        add('during, safely', { 'idempotency-key': 'one' }),
      ]).finally(() => {
        isOver = true
      })
      let reads = 0
      while (!isOver) {
        assert.equal((await service.request('GET', '/v1/pets', { key })).status, 200)
        assert.equal((await service.request('GET', '/readyz')).status, 200)
        if (++reads >= 100) break
      }
      for (const response of await rejected) {
        assert.equal(response.status, 503)
        assert.equal(response.json.code, 'unavailable')
        assert.match(response.headers['retry-after'] ?? '', /^[1-9]\d*$/)
        assert.ok(response.headers['x-ratelimit-limit'])
        assert.doesNotMatch(response.text, /sqlite|lock|SQL/i)
      }
      assert.ok(reads > 20)
      await lock.release()
      const retried = await add('during, safely', { 'idempotency-key': 'one' })
      assert.equal(retried.status, 201)
      assert.equal(
        retried.headers['idempotent-replayed'],
        undefined,
        'the error was not recorded as the response',
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
})
