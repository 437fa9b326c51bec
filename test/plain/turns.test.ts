import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Turns } from '../../src/server/turns.ts'

type Settings = Partial<ConstructorParameters<typeof Turns<number>>[0]>

/** Items that run at once, in one lane and of one caller. */
const turnsOf = (perTurnMax: number, run: (item: number) => void, more: Settings = {}): Turns<number> =>
  new Turns<number>({
    bounds: { waitMaxMs: 200, burstMaxMs: 1_000 },
    inProgressMax: () => 1_000,
    perTurnMax,
    run,
    shed: (item) => assert.fail(`${item} was rejected`),
    laneOf: () => 'read',
    callerOf: () => ({ address: 'a', key: 'k' }),
    isComplete: () => true,
    now: () => 0,
    ...more,
  })

test('items beyond the limit of a turn run in the next turns, in order', async () => {
  const ran: number[] = []
  const turns = turnsOf(3, (item) => ran.push(item))
  for (let item = 1; item <= 7; item++) turns.add(item)
  assert.deepEqual(ran, [1, 2, 3])
  await nextTurn()
  assert.deepEqual(ran, [1, 2, 3, 4, 5, 6])
  turns.add(8)
  assert.deepEqual(ran.at(-1), 6, 'a new item waits behind the others')
  await nextTurn()
  assert.deepEqual(ran, [1, 2, 3, 4, 5, 6, 7, 8])
  for (const item of [9, 10]) turns.add(item)
  assert.deepEqual(ran.slice(8), [9], 'the items of a turn count, also those that waited')
  await nextTurn()
  assert.deepEqual(ran.slice(8), [9, 10])
})

test('an item that is added by another one waits if the turn is full', async () => {
  const ran: number[] = []
  const turns: Turns<number> = turnsOf(2, (item) => {
    ran.push(item)
    if (item < 6) turns.add(item + 1)
  })
  turns.add(1)
  assert.deepEqual(ran, [1, 2])
  await nextTurn()
  assert.deepEqual(ran, [1, 2, 3, 4])
  while (ran.length < 6) await nextTurn()
  assert.deepEqual(ran, [1, 2, 3, 4, 5, 6])
})

test('a turn ends when its time is over, also if the time passes after an item has started', async () => {
  let time = 0
  const ran: number[] = []
  const take = async (item: number) => {
    ran.push(item)
    // Work in a microtask, as of a handler that awaits something.
    await undefined
    time += 3
  }
  const turns = turnsOf(100, () => {}, { run: take, now: () => time })
  turns.add(1)
  time += 6
  for (const item of [2, 3, 4, 5, 6, 7]) turns.add(item)
  assert.deepEqual(ran, [1])
  await nextTurn()
  assert.deepEqual(ran, [1, 2])
  const before = ran.length
  await nextTurn()
  assert.equal(ran.length - before, 2, 'two take 6 ms')
  while (ran.length < 7) await nextTurn()
})

test('connections are accepted first: libuv accepts one in a turn', async () => {
  const ran: number[] = []
  let accepted = 0
  const turns = turnsOf(1, (item) => ran.push(item), { accepted: () => accepted })
  for (const item of [1, 2]) turns.add(item)
  for (accepted = 1; accepted <= 5; accepted++) {
    await nextTurn()
    assert.deepEqual(ran, [1])
  }
  accepted = 5
  await nextTurn()
  await nextTurn()
  assert.deepEqual(ran, [1, 2])
})

test('changes in progress hold back further changes, but neither reads nor probes', async () => {
  const started: number[] = []
  const ends = new Map<number, () => void>()
  const complete = new Set([1, 2, 3])
  const turns = turnsOf(100, () => {}, {
    inProgressMax: () => 2,
    run(item) {
      started.push(item)
      return item < 10 ? new Promise((resolve) => ends.set(item, resolve)) : undefined
    },
    laneOf: (item) => (item < 10 ? 'write' : item < 20 ? 'read' : 'probe'),
    isComplete: (item) => complete.has(item),
  })
  for (const item of [1, 2, 3, 10, 20]) turns.add(item)
  await nextTurn()
  assert.deepEqual(started, [1, 2, 10, 20])
  complete.delete(1)
  turns.add(11)
  await nextTurn()
  assert.deepEqual(started, [1, 2, 10, 20, 11, 3], 'one whose body is arriving takes no room')
  complete.add(1)
  turns.add(4)
  await nextTurn()
  assert.equal(started.at(-1), 3)
  ends.get(2)?.()
  await nextTurn()
  ends.get(1)?.()
  await nextTurn()
  assert.equal(started.at(-1), 4)
})

test('lanes run in proportion to what waits, and a flood leaves a part of the requests to each of the others', async () => {
  const ran: string[] = []
  const lanes = ['read', 'write', 'probe'] as const
  const laneOf = (item: number) => lanes[Math.floor(item / 1_000)] ?? 'read'
  const counts = () => lanes.map((lane) => ran.filter((one) => one === lane).length)
  const turns = turnsOf(10, (item) => ran.push(laneOf(item)), { laneOf })
  const add = (lane: number, count: number) => {
    for (let n = 0; n < count; n++) turns.add(1_000 * lane + n)
  }
  add(0, 10)
  add(0, 60)
  add(1, 40)
  ran.length = 0
  await nextTurn()
  assert.deepEqual(counts(), [6, 4, 0])
  add(0, 900)
  add(2, 1)
  ran.length = 0
  for (let turn = 0; turn < 6; turn++) await nextTurn()
  const [reads = 0, changes = 0, probes] = counts()
  assert.equal(probes, 1)
  assert.ok(changes >= 0.15 * (reads + changes), `${changes} changes and ${reads} reads`)
})

test('when rejections take their part of a turn, the newest item is served', async () => {
  let time = 0
  const log: string[] = []
  const turns = turnsOf(1, (item) => log.push(`run ${item}`), {
    shed(item) {
      log.push(`shed ${item}`)
      time++
    },
    now: () => time,
  })
  for (let item = 1; item <= 7; item++) turns.add(item)
  time = 1_500
  await nextTurn()
  assert.deepEqual(log, ['run 1', 'shed 2', 'shed 3', 'run 7'])
  while (log.length < 7) await nextTurn()
  assert.deepEqual(log.slice(4), ['shed 4', 'shed 5', 'run 6'])
})
