import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WaitingRequests } from '../../src/server/waitingRequests.ts'

const waitMaxMs = 200
const burstMaxMs = 1_000
const waitingOf = () => new WaitingRequests<string>({ waitMaxMs, burstMaxMs })
type Waiting = ReturnType<typeof waitingOf>

const push = (waiting: Waiting, now: number, count: number, address: string, key = address) => {
  for (let index = 0; index < count; index++) waiting.push(address, { address, key }, now)
}

/** What is served and what is overdue, from the oldest one on. */
function drain(waiting: Waiting, now: number): { served: string[]; overdue: string[] } {
  const served: string[] = []
  const overdue: string[] = []
  while (waiting.length > 0) (waiting.isOverdue(now) ? overdue : served).push(waiting.shift() as string)
  return { served, overdue }
}

test('a burst is served completely if its last request waits for at most a second', () => {
  const waiting = waitingOf()
  push(waiting, 0, 5_000, 'a')
  assert.equal(drain(waiting, burstMaxMs).overdue.length, 0)
})

test('what is left of a burst after that is overdue', () => {
  const waiting = waitingOf()
  push(waiting, 0, 10, 'a')
  assert.equal(drain(waiting, burstMaxMs + 1).overdue.length, 10)
})

test('while requests wait for longer than a burst, each may wait for a short time only', () => {
  const waiting = waitingOf()
  push(waiting, 0, 1, 'a')
  push(waiting, 900, 1, 'a')
  waiting.shift()
  assert.equal(waiting.isOverdue(1_001), false, '101 ms')
  assert.equal(waiting.isOverdue(1_101), true, '201 ms')
  waiting.shift()
  push(waiting, 1_200, 1, 'a')
  assert.equal(waiting.isOverdue(1_500), false, 'none waited in between, so this is a new burst')
})

/** Requests have waited for more than a second, and those that follow for 300 ms. */
function overloaded(fill: (waiting: Waiting, at: number) => void): { served: string[]; overdue: string[] } {
  const waiting = waitingOf()
  push(waiting, 0, 1, 'first')
  fill(waiting, 1_000)
  waiting.shift()
  return drain(waiting, 1_300)
}

test('an address that floods is rejected first, also with many keys', () => {
  const { served } = overloaded((waiting, at) => {
    for (let n = 0; n < 400; n++) push(waiting, at, 1, 'flood', `made up ${n}`)
    push(waiting, at, 5, 'other')
    for (let n = 0; n < 400; n++) push(waiting, at, 1, 'flood', `made up ${400 + n}`)
  })
  assert.deepEqual(served, Array(5).fill('other'))
})

test('a key that floods is rejected first, also from many addresses, or from the address of others', () => {
  const manyAddresses = overloaded((waiting, at) => {
    for (let n = 0; n < 400; n++) {
      push(waiting, at, 2, `address ${n}`, 'flood')
      if (n === 200) push(waiting, at, 5, 'other')
    }
  })
  assert.equal(manyAddresses.served.filter((address) => address === 'other').length, 5)
  assert.ok(manyAddresses.overdue.length > 300, `${manyAddresses.overdue.length} of 800`)
  const oneAddress = overloaded((waiting, at) => {
    push(waiting, at, 400, 'shared', 'flood')
    push(waiting, at, 5, 'shared', 'other')
    push(waiting, at, 400, 'shared', 'flood')
  })
  assert.equal(oneAddress.served.length, 5)
})

test('a caller with a small share is overdue later, but its wait is bounded', () => {
  const waiting = waitingOf()
  push(waiting, 0, 1, 'first')
  push(waiting, 1_000, 1, 'other')
  push(waiting, 1_000, 9, 'flood')
  waiting.shift()
  assert.equal(waiting.isOverdue(1_000 + 4 * waitMaxMs), false)
  assert.equal(waiting.isOverdue(1_001 + 4 * waitMaxMs), true)
})

test('callers that send about equally much are all overdue after the short time', () => {
  const { served } = overloaded((waiting, at) => {
    for (let n = 0; n < 100; n++) push(waiting, at, n % 3 === 0 ? 2 : 1, `caller ${n % 10}`, 'the same key')
  })
  assert.deepEqual(served, [])
})

test('the newest one can be taken first', () => {
  const waiting = waitingOf()
  push(waiting, 0, 1, 'old')
  push(waiting, 5, 1, 'new')
  assert.equal(waiting.pop(), 'new')
  assert.equal(waiting.shift(), 'old')
  assert.equal(waiting.pop(), undefined)
})
