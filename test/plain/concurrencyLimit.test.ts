import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { ConcurrencyLimit } from '../../src/database/concurrencyLimit.ts'
import { DatabaseUnavailableError } from '../../src/database/database.ts'

const unavailable = new Error('unavailable')

/** A queue in which two works run. The first of them ends when the test says so. */
function busyQueue() {
  const queue = new ConcurrencyLimit(2)
  const works = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const running = works.map(({ promise }) => queue.run(() => promise, { subject: 'pet 1' }))
  const started: string[] = []
  const checks: PromiseWithResolvers<void>[] = []
  /** Work that waits. Its check ends when the test says so. */
  const add = (name: string, precheckName: string | null = 'order') => {
    const check = () => {
      const running = Promise.withResolvers<void>()
      checks.push(running)
      return running.promise
    }
    const work = async () => {
      started.push(name)
      // Runs until the end of the test.
      await works[1].promise
      return name
    }
    const precheck = precheckName === null ? undefined : { name: precheckName, run: check }
    return queue.run(work, { subject: 'pet 1', precheck })
  }
  const end = async () => {
    works[1].resolve()
    await Promise.all(running)
  }
  return { queue, add, started, checks, endFirst: () => works[0].resolve(), end }
}

test('one check rejects all work of its name that waits, and no other', async () => {
  const { queue, add, started, checks, endFirst, end } = busyQueue()
  const next = add('next')
  const others = [add('other', 'another name'), add('unchecked', null)]
  const orders = Array.from({ length: 3_000 }, (_, n) => add(`order ${n}`))
  endFirst()
  await nextIteration()
  assert.deepEqual(started, ['next'], 'the next work does not wait for the check')
  assert.equal(checks.length, 1)
  checks[0]?.reject(unavailable)
  for (const order of await Promise.allSettled(orders))
    assert.equal(order.status === 'rejected' && order.reason, unavailable)
  assert.equal(queue.waiting, others.length)
  await end()
  assert.deepEqual(await Promise.all([next, ...others]), ['next', 'other', 'unchecked'])
  assert.deepEqual(started, ['next', 'other', 'unchecked'], 'in the order of arrival')
})

test('work that arrives during a check is not rejected by it', async () => {
  const { queue, add, checks, endFirst, end } = busyQueue()
  const next = add('next')
  const early = add('early')
  endFirst()
  await nextIteration()
  const late = add('late')
  checks[0]?.reject(unavailable)
  await assert.rejects(early, unavailable)
  assert.equal(queue.waiting, 1)
  await end()
  assert.deepEqual(await Promise.all([next, late]), ['next', 'late'])
})

test('a check that cannot read the database rejects nothing', async () => {
  const { add, checks, endFirst, end } = busyQueue()
  const next = add('next')
  const waiting = add('waiting')
  endFirst()
  await nextIteration()
  checks[0]?.reject(new DatabaseUnavailableError('The database cannot be reached.'))
  await nextIteration()
  await end()
  assert.deepEqual(await Promise.all([next, waiting]), ['next', 'waiting'])
})

test('work with priority starts before all that waits', async () => {
  const limit = new ConcurrencyLimit(1)
  const held = Promise.withResolvers<void>()
  const started: string[] = []
  const add = (name: string, hasPriority = false) =>
    limit.run(
      async () => {
        started.push(name)
        if (name === 'running') await held.promise
      },
      { hasPriority },
    )
  const works = [add('running'), add('first'), add('second'), add('background', true)]
  held.resolve()
  await Promise.all(works)
  assert.deepEqual(started, ['running', 'background', 'first', 'second'])
})

test('work that failed lets the next start, and leaves nothing behind', async () => {
  const { queue, add, endFirst, end } = busyQueue()
  const failing = queue.run(
    async () => {
      throw unavailable
    },
    { subject: 'pet 1' },
  )
  const next = add('next')
  endFirst()
  await assert.rejects(failing, unavailable)
  await end()
  assert.equal(await next, 'next')
  assert.equal(queue.waiting, 0)
})

test('the work that waits is bounded in number, of all subjects together', async () => {
  const limit = new ConcurrencyLimit(1, { waitingMax: 2 })
  const held = Promise.withResolvers<void>()
  const works = ['a', 'b', 'a', 'b'].map((subject) => limit.run(() => held.promise, { subject }))
  assert.equal(limit.waiting, 2)
  await assert.rejects(
    limit.run(() => held.promise, { subject: 'a' }),
    DatabaseUnavailableError,
  )
  const free = await limit.run(async () => 'free', { subject: 'c' })
  assert.equal(free, 'free', 'a subject with room does not wait')
  held.resolve()
  await Promise.all(works)
})

test('work that waits for too long is rejected, and does not start', async () => {
  const limit = new ConcurrencyLimit(1, { waitMaxMs: 0 })
  const held = Promise.withResolvers<void>()
  const running = limit.run(() => held.promise)
  const late = limit.run(() => assert.fail('it started'))
  await nextIteration()
  held.resolve()
  await running
  await assert.rejects(late, DatabaseUnavailableError)
  assert.equal(await limit.run(async () => 'next'), 'next')
})
