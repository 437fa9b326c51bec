import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ResumeQueue } from '../../src/server/resumeQueue.ts'

/** Connections of which each reads this many requests after it resumed: as with a socket, in the next turn. */
function queueOf(names: string, requestsOfOne = 0) {
  const queue = new ResumeQueue()
  const resumed: string[] = []
  const connections = Array.from(names, (name) => ({
    waitingWeight: 0,
    isStalled: false,
    resume() {
      resumed.push(name)
      setImmediate(() => this.serve(-requestsOfOne))
    },
    serve(count: number) {
      this.waitingWeight -= count
      queue.addWeight(-count)
    },
  }))
  for (const connection of connections) queue.add(connection)
  const [first] = connections as [(typeof connections)[0]]
  return { queue, resumed, connections, first }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}

test('one connection resumes in a turn, in the order in which they were added', async () => {
  const { queue, resumed, first } = queueOf('abc')
  queue.add(first)
  assert.equal(resumed.join(''), '')
  for (const expected of ['a', 'ab', 'abc', 'abc']) {
    await nextTurn()
    assert.equal(resumed.join(''), expected)
  }
})

test('while many requests of one wait, the next one does not resume', async () => {
  const { resumed, first } = queueOf('ab', 400)
  await turns(5)
  assert.equal(resumed.join(''), 'a')
  first.serve(379)
  await nextTurn()
  assert.equal(resumed.join(''), 'a')
  first.serve(1)
  await nextTurn()
  assert.equal(resumed.join(''), 'ab')
})

test('requests of a connection that does not resume delay no other', async () => {
  const { queue, resumed } = queueOf('abc')
  queue.addWeight(1_000)
  await turns(3)
  assert.equal(resumed.join(''), 'abc')
})

test('a connection that is closed delays no other', async () => {
  const { queue, resumed, first } = queueOf('ab', 400)
  await turns(5)
  assert.equal(resumed.join(''), 'a')
  queue.close(first)
  await nextTurn()
  assert.equal(resumed.join(''), 'ab')
})

/** Time passes only when it is moved. */
function mockTime(t: TestContext): (ms: number) => void {
  let now = 0
  t.mock.timers.enable({ apis: ['setTimeout'] })
  t.mock.method(performance, 'now', () => now)
  return (ms) => {
    now += ms
    t.mock.timers.tick(ms)
  }
}

test('while many requests of one wait for long, no other is paused for more than a second', async (t) => {
  const pass = mockTime(t)
  const { queue, resumed, connections } = queueOf('abcd', 400)
  const last = connections[3] as (typeof connections)[3]
  queue.remove(last)
  await turns(5)
  pass(600)
  queue.add(last)
  const passSlowly = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 50) {
      pass(50)
      await turns(2)
    }
  }
  await passSlowly(350)
  assert.equal(resumed.join(''), 'a')
  // Both are due, one after another.
  await passSlowly(50)
  pass(1)
  await turns(2)
  assert.equal(resumed.join(''), 'abc')
  await passSlowly(500)
  assert.equal(resumed.join(''), 'abc')
  await passSlowly(100)
  assert.equal(resumed.join(''), 'abcd')
})

test('a connection whose client does not read delays no other for long', async (t) => {
  const pass = mockTime(t)
  const { resumed, first } = queueOf('ab', 400)
  await turns(5)
  first.isStalled = true
  pass(49)
  assert.equal(resumed.join(''), 'a')
  pass(1)
  assert.equal(resumed.join(''), 'ab')
})

test('one connection resumes in a turn, also if one of them has waited for long', async (t) => {
  const pass = mockTime(t)
  const { resumed, first } = queueOf('abcd')
  await nextTurn()
  first.serve(-1_000)
  await turns(3)
  assert.equal(resumed.join(''), 'a')
  first.serve(1_000)
  pass(1_000)
  assert.equal(resumed.join(''), 'ab')
  for (const expected of ['abc', 'abcd']) {
    await nextTurn()
    assert.equal(resumed.join(''), expected)
  }
})

test('a connection that was closed does not resume', async () => {
  const { queue, resumed, connections } = queueOf('ab')
  for (const connection of connections) queue.close(connection)
  await turns(3)
  assert.deepEqual(resumed, [])
})
