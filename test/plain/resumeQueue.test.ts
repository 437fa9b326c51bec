import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ResumeQueue } from '../../src/server/resumeQueue.ts'

/** Connections of which each reads this many requests after it resumed: as with a socket, in the next turn. */
function queueOf(names: string, requestsOfOne = 0) {
  const queue = new ResumeQueue()
  const resumed: string[] = []
  const connections = Array.from(names, (name) => ({
    resume() {
      resumed.push(name)
      setImmediate(() => queue.addWeight(requestsOfOne))
    },
  }))
  for (const connection of connections) queue.add(connection)
  return { queue, resumed, connections }
}

test('one connection resumes in a turn, in the order in which they were added', async () => {
  const { queue, resumed, connections } = queueOf('abc')
  queue.add(connections[0] as (typeof connections)[0])
  assert.equal(resumed.join(''), '')
  for (const expected of ['a', 'ab', 'abc', 'abc']) {
    await nextTurn()
    assert.equal(resumed.join(''), expected)
  }
})

test('while the requests of one wait, the next one does not resume until few wait', async () => {
  const { queue, resumed } = queueOf('ab', 400)
  for (let turn = 0; turn < 5; turn++) await nextTurn()
  assert.equal(resumed.join(''), 'a')
  queue.addWeight(-379)
  await nextTurn()
  assert.equal(resumed.join(''), 'a')
  queue.addWeight(-1)
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

test('while many wait for long, no connection is paused for more than a second', async (t) => {
  const pass = mockTime(t)
  const { queue, resumed } = queueOf('')
  queue.addWeight(1_000)
  const add = (names: string) => {
    for (const name of names) queue.add({ resume: () => resumed.push(name) })
  }
  add('abc')
  pass(600)
  add('d')
  pass(399)
  assert.equal(resumed.join(''), '')
  for (let ms = 0; ms < 5; ms++) pass(1)
  assert.equal(resumed.join(''), 'abc')
  pass(594)
  assert.equal(resumed.join(''), 'abc')
  pass(3)
  assert.equal(resumed.join(''), 'abcd')
})

test('one connection resumes in a turn, also if one of them has waited for long', async (t) => {
  const pass = mockTime(t)
  const { queue, resumed } = queueOf('')
  queue.addWeight(1_000)
  for (const name of 'abcd') queue.add({ resume: () => resumed.push(name) })
  queue.addWeight(-1_000)
  pass(1_001)
  assert.equal(resumed.join(''), 'a')
  for (const expected of ['ab', 'abc', 'abcd']) {
    await nextTurn()
    assert.equal(resumed.join(''), expected)
  }
})

test('a connection that was closed does not resume', async () => {
  const { queue, resumed, connections } = queueOf('ab')
  for (const connection of connections) queue.delete(connection)
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  assert.deepEqual(resumed, [])
})
