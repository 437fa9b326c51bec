import assert from 'node:assert/strict'
import { validateHeaderValue } from 'node:http'
import { BlockList } from 'node:net'
import { describe, test } from 'node:test'
import { callerOf } from '../../src/server/lanes.ts'
import { WaitingRequests } from '../../src/server/waitingRequests.ts'
import { randomFrom } from '../support/faultProxy.ts'

const waitMaxMs = 200
const burstMaxMs = 1_000
const waitingOf = () => new WaitingRequests<string>({ waitMaxMs, burstMaxMs })
type Waiting = ReturnType<typeof waitingOf>

/** Returns how many are added. */
const add = (
  waiting: Waiting,
  now: number,
  count: number,
  address: string,
  key = `key of ${address}`,
): number => {
  let added = 0
  for (let index = 0; index < count; index++) if (waiting.add(address, { address, key }, now)) added++
  return added
}

/** What is served and what is overdue, from the oldest one on. */
function drain(waiting: Waiting, now: number): { served: string[]; overdue: string[] } {
  const served: string[] = []
  const overdue: string[] = []
  while (waiting.length > 0) {
    const taken = waiting.takeOverdue(now)
    if (taken !== undefined) overdue.push(taken)
    else served.push(waiting.next(now) as string)
  }
  return { served, overdue }
}

test('a burst is served completely if its last request waits for at most a second', () => {
  const waiting = waitingOf()
  add(waiting, 0, 5_000, 'a')
  assert.equal(drain(waiting, burstMaxMs).overdue.length, 0)
})

test('what is left of a burst after that is overdue', () => {
  const waiting = waitingOf()
  add(waiting, 0, 10, 'a')
  assert.equal(drain(waiting, burstMaxMs + 1).overdue.length, 10)
})

test('while requests wait for longer than a burst, each may wait for a short time only', () => {
  const waiting = waitingOf()
  add(waiting, 0, 1, 'a')
  add(waiting, 900, 1, 'a')
  waiting.next(950)
  assert.equal(waiting.takeOverdue(1_001), undefined, '101 ms')
  assert.equal(waiting.takeOverdue(1_101), 'a', '201 ms')
  add(waiting, 1_200, 1, 'a')
  assert.equal(waiting.takeOverdue(1_401), 'a', 'also after a time in which none waited')
  add(waiting, 2_402, 1, 'a')
  assert.equal(waiting.takeOverdue(2_800), undefined, 'none was rejected for a second, so this is a burst')
})

test('a caller that sends less than its fair share is overdue later, but its wait is bounded', () => {
  const waiting = waitingOf()
  add(waiting, 0, 1, 'other')
  add(waiting, 0, 9, 'flood')
  for (let n = 0; n < 5; n++) waiting.next(500)
  while (waiting.takeOverdue(1_001) !== undefined) {
    // Each one that is left has waited for a second.
  }
  add(waiting, 1_002, 1, 'other')
  assert.equal(waiting.takeOverdue(1_002 + 4 * waitMaxMs), undefined)
  assert.equal(waiting.takeOverdue(1_003 + 4 * waitMaxMs), 'other')
})

test('the newest one is served if the oldest one is overdue', () => {
  const waiting = waitingOf()
  for (const [name, at] of [
    ['oldest', 0],
    ['old', 100],
    ['new', 1_000],
  ] as const)
    waiting.add(name, { address: 'a', key: 'k' }, at)
  assert.equal(waiting.next(1_000), 'oldest', 'a burst')
  assert.equal(waiting.next(1_001), 'new')
  assert.equal(waiting.takeOverdue(1_002), 'old')
  assert.equal(waiting.next(1_003), undefined)
})

/** One request has waited for a second, and one was served every 2 ms. */
function busy(): Waiting {
  const waiting = waitingOf()
  add(waiting, 0, 501, 'flood')
  for (let now = 2; now <= 1_000; now += 2) waiting.next(now)
  assert.equal(waiting.length, 1)
  return waiting
}

test('a request that would wait for too long is rejected at once', () => {
  const waiting = busy()
  const added = add(waiting, 1_001, 1_000, 'flood')
  assert.ok(added > 40 && added < 60, `${added}: half of what is served in 200 ms`)
  for (let n = 0; n < 20; n++) waiting.next(1_040)
  assert.equal(add(waiting, 1_041, 1_000, 'flood'), 20)
  while (waiting.length > 0) waiting.next(1_100)
  const addedLater = add(waiting, 1_101, 1_000, 'flood')
  assert.ok(addedLater < 100, `${addedLater}: also after a time in which none waited`)
  while (waiting.length > 0) waiting.next(1_200)
  assert.equal(add(waiting, 2_102, 1_000, 'flood'), 1_000, 'none was rejected for a second')
})

test('a caller that sends less than its fair share is not rejected at once, but the queue is bounded for it too', () => {
  const waiting = busy()
  add(waiting, 1_001, 5_000, 'flood')
  assert.equal(add(waiting, 1_001, 50, 'other'), 50)
  assert.equal(add(waiting, 1_001, 50, 'flood', 'other'), 50, 'its key sends less')
  let added = 0
  for (let n = 0; n < 5_000; n++) added += add(waiting, 1_001, 1, `other ${n}`)
  assert.ok(added > 0 && added < 100, `${added}: with the others, half of what is served in 800 ms`)
})

test('while none is served, new ones are rejected', () => {
  const waiting = waitingOf()
  add(waiting, 0, 10, 'a')
  assert.equal(add(waiting, 1_001, 5, 'a'), 0)
})

type Sender = { name: string; perSecond: number; address?: string; key?: string | ((n: number) => string) }
type Result = { served: number; sent: number }

/** A request takes 1.5 ms, so 667 are served in a second. Returns the numbers of 3 seconds by name. */
function serve(senders: readonly Sender[]): Record<string, Result> {
  const waiting = new WaitingRequests<Result>({ waitMaxMs, burstMaxMs })
  const results: Record<string, Result> = {}
  const random = randomFrom(1)
  const due = senders.map(({ perSecond }) => (1_000 / perSecond) * random())
  let freeAt = 0
  let sent = 0
  for (let ms = 0; ms < 7_000; ms++) {
    for (let index = 0; index < senders.length; index++) {
      // Another one is first in each millisecond.
      const at = (index + ms) % senders.length
      const { name, perSecond, address = name, key = `key of ${name}` } = senders[at] as Sender
      for (; (due[at] as number) <= ms; due[at] = (due[at] as number) + (2_000 / perSecond) * random()) {
        const result = results[name] ?? { served: 0, sent: 0 }
        results[name] = result
        const caller = { address, key: typeof key === 'string' ? key : key(sent++) }
        const isCounted = ms >= 3_000 && ms < 6_000
        if (isCounted) result.sent++
        waiting.add(isCounted ? result : { served: 0, sent: 0 }, caller, ms)
      }
    }
    for (freeAt = Math.max(freeAt, ms); freeAt < ms + 1 && waiting.length > 0; ) {
      if (waiting.takeOverdue(freeAt) !== undefined) continue
      const result = waiting.next(freeAt) as Result
      result.served++
      freeAt += 1.5
    }
  }
  return results
}

const several = (count: number, sender: Sender): Sender[] =>
  Array.from({ length: count }, (_, n) => ({
    ...sender,
    address: sender.address ?? `${sender.name} ${n}`,
    key: sender.key ?? `${sender.name} ${n}`,
  }))

const madeUp = (n: number) => `made up ${n}`
const tenCalm = several(10, { name: 'calm', perSecond: 20 })

const floods: Record<string, Sender[]> = {
  'a key floods from one address': [{ name: 'flood', perSecond: 3_000 }, ...tenCalm],
  'a key floods from many addresses': [
    ...several(200, { name: 'flood', perSecond: 15, key: 'flood' }),
    ...tenCalm,
  ],
  'a key floods from the address of others': [
    { name: 'flood', perSecond: 3_000, address: 'shared' },
    ...several(20, { name: 'calm', perSecond: 10, address: 'shared' }),
    ...tenCalm,
  ],
  'an address floods with made-up keys': [
    { name: 'flood', perSecond: 3_000, key: madeUp },
    ...several(10, { name: 'calm', perSecond: 40 }),
  ],
  'an address floods with made-up keys, beside many addresses': [
    { name: 'flood', perSecond: 1_000, key: madeUp },
    ...several(100, { name: 'calm', perSecond: 5 }),
  ],
  'an address floods with long keys': [
    { name: 'flood', perSecond: 3_000, key: (n) => `${n}`.padStart(101, 'x') },
    ...tenCalm,
  ],
  'an address floods without a key': [
    { name: 'flood', perSecond: 3_000, address: '192.0.2.1', key: '\nnone from 192.0.2.1' },
    { name: 'calm', perSecond: 20, address: '192.0.2.1' },
    ...tenCalm,
  ],
  'a key floods, and many others send little': [
    { name: 'flood', perSecond: 3_000 },
    ...tenCalm,
    ...several(300, { name: 'calm', perSecond: 0.5 }),
  ],
  'two keys of an address flood, one much more': [
    { name: 'first', perSecond: 6_000, address: 'flood' },
    { name: 'flood', perSecond: 700, address: 'flood' },
    ...several(2, { name: 'calm', perSecond: 10 }),
  ],
  'five addresses flood, one much more': [
    { name: 'first', perSecond: 6_000 },
    ...several(4, { name: 'flood', perSecond: 270 }),
    ...tenCalm,
  ],
  'a key has the name of an address': [
    { name: 'flood', perSecond: 3_000, key: 'calm' },
    ...several(4, { name: 'calm', perSecond: 5, address: 'calm' }),
    { name: 'calm', perSecond: 5, key: '\nnone from calm' },
  ],
}

describe('calm callers are served', () => {
  for (const [description, senders] of Object.entries(floods))
    test(`while ${description}`, () => {
      const { calm, flood } = serve(senders) as { calm: Result; flood: Result }
      assert.ok(calm.served >= 0.98 * calm.sent, `${calm.served} of ${calm.sent}`)
      assert.ok(flood.served < 0.9 * flood.sent, `${flood.served} of ${flood.sent}`)
    })
})

test('after a stall of the event loop, requests are served at the rate of before', () => {
  const waiting = busy()
  for (let now = 1_001; now < 2_000; now++) {
    add(waiting, now, 1, 'a')
    waiting.next(now)
  }
  let added = 0
  for (let n = 0; n < 20; n++) added += add(waiting, 4_300, 1, `new ${n}`)
  assert.equal(added, 20)
})

test('callers that send equally much get the same', () => {
  const results = serve(Array.from({ length: 8 }, (_, n) => ({ name: `${n}`, perSecond: 200 })))
  const served = Object.values(results).map((result) => result.served)
  assert.ok(Math.min(...served) > 0.8 * Math.max(...served), `${served}`)
  assert.ok(served.reduce((sum, each) => sum + each) > 1_950, `${served}`)
})

test('no caller can send the key of a caller without one', () => {
  const request = { header: () => '', remoteAddress: '192.0.2.1' }
  const { key } = callerOf(request as never, new BlockList())
  assert.throws(() => validateHeaderValue('authorization', key), TypeError)
})

test('of more than 10,000 callers, the others count as one', () => {
  const manyKeys = busy()
  for (let n = 0; n < 30_000; n++) add(manyKeys, 1_001, 1, 'flood', madeUp(n))
  assert.equal(add(manyKeys, 1_002, 1, 'flood', 'one more'), 0)
})

test('a caller that sent nothing in one of the periods is calm, also beside a flood with long keys', () => {
  const waiting = busy()
  for (let now = 1_002; now < 2_000; now += 2) {
    add(waiting, now, 5, 'flood', 'x'.repeat(101))
    add(waiting, now, 5, 'flood', '')
    waiting.next(now)
  }
  assert.ok(add(waiting, 2_003, 1_000, 'flood', '') < 60)
  assert.equal(add(waiting, 2_003, 1, 'other'), 1)
})

test('at most 10,000 wait', () => {
  const waiting = new WaitingRequests<string>({ waitMaxMs: Infinity, burstMaxMs: Infinity })
  assert.equal(add(waiting, 0, 10_001, 'a'), 10_000)
})

/** A request takes 1.5 ms. For 3 s, 4.5 times as many arrive as can be served, and then those of `arrive`. Returns the rejected ones. */
function afterOverload(arrive: (ms: number) => number): { at: number; count: number }[] {
  const waiting = waitingOf()
  const rejected: { at: number; count: number }[] = []
  let freeAt = 0
  for (let ms = 0; ms < 12_000; ms++) {
    const count = ms < 3_000 ? 3 : arrive(ms)
    const added = add(waiting, ms, count, 'a')
    if (added < count) rejected.push({ at: ms, count: count - added })
    for (freeAt = Math.max(freeAt, ms); freeAt < ms + 1 && waiting.length > 0; ) {
      if (waiting.takeOverdue(freeAt) !== undefined) continue
      waiting.next(freeAt)
      freeAt += 1.5
    }
  }
  return rejected
}

test('after an overload, bursts are served completely', () => {
  for (const [size, everyMs] of [
    [60, 500],
    [60, 250],
    [100, 900],
    [100, 300],
    [30, 60],
    [72, 120],
    [80, 130],
    [1, 2],
  ] as const) {
    const rejected = afterOverload((ms) => (ms % everyMs === 0 ? size : 0))
    assert.ok(rejected.some(({ at }) => at < 3_000))
    const late = rejected.filter(({ at }) => at >= 5_000)
    assert.deepEqual(late, [], `${size} in ${everyMs} ms`)
  }
})
