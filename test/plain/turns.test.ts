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
    reject: (item) => assert.fail(`${item} was rejected`),
    laneOf: () => 'read',
    callerOf: () => ({ address: 'a', key: 'k' }),
    isBodyAwaited: () => false,
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

test('while connections are accepted, requests that wait are not started either', async () => {
  const ran: number[] = []
  let accepted = 0
  const turns = turnsOf(
    4,
    async (item) => {
      ran.push(item)
      await nextTurn()
    },
    { accepted: () => accepted },
  )
  for (let item = 1; item <= 12; item++) turns.add(item)
  await nextTurn()
  const before = ran.length
  accepted++
  await nextTurn()
  assert.equal(ran.length, before)
  while (ran.length < 12) await nextTurn()
})

test('changes in progress hold back further changes, but neither reads nor probes', async () => {
  const started: number[] = []
  const ends = new Map<number, () => void>()
  const arriving = new Set<number>()
  const turns = turnsOf(100, () => {}, {
    inProgressMax: () => 2,
    run(item) {
      started.push(item)
      return item < 10 ? new Promise((resolve) => ends.set(item, resolve)) : undefined
    },
    laneOf: (item) => (item < 10 ? 'write' : item < 20 ? 'read' : 'probe'),
    isBodyAwaited: (item) => arriving.has(item),
  })
  for (const item of [1, 2, 3, 10, 20]) turns.add(item)
  await nextTurn()
  assert.deepEqual(started, [1, 2, 10, 20])
  arriving.add(1)
  turns.add(11)
  await nextTurn()
  assert.deepEqual(started, [1, 2, 10, 20, 11, 3], 'one whose body is arriving takes no room')
  arriving.delete(1)
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
    reject(item) {
      log.push(`reject ${item}`)
      time++
    },
    now: () => time,
  })
  for (let item = 1; item <= 7; item++) turns.add(item)
  time = 1_500
  await nextTurn()
  assert.deepEqual(log, ['run 1', 'reject 2', 'reject 3', 'run 7'])
  while (log.length < 7) await nextTurn()
  assert.deepEqual(log.slice(4), ['reject 4', 'reject 5', 'run 6'])
})

test('changes that are overdue do not wait until all overdue reads are rejected', async () => {
  let time = 0
  const rejected: number[] = []
  const turns = turnsOf(1, () => {}, {
    reject(item) {
      rejected.push(item)
      time++
    },
    laneOf: (item) => (item < 100 ? 'read' : 'write'),
    now: () => time,
  })
  for (let item = 0; item < 10; item++) turns.add(item)
  for (let item = 100; item < 110; item++) turns.add(item)
  time = 1_500
  await nextTurn()
  await nextTurn()
  assert.deepEqual(rejected, [1, 2, 100, 101])
})

test('a request that would wait for too long is rejected in the next turn', async () => {
  let time = 0
  const log: string[] = []
  const turns = turnsOf(1, (item) => log.push(`run ${item}`), {
    bounds: { waitMaxMs: 20, burstMaxMs: 10 },
    reject: (item) => log.push(`reject ${item}`),
    now: () => time,
  })
  for (const item of [1, 2, 3]) turns.add(item)
  time = 11
  turns.add(4)
  assert.deepEqual(log, ['run 1'])
  await nextTurn()
  assert.deepEqual(log, ['run 1', 'reject 4', 'run 2'])
})

test('of many requests to reject, the newest ones are first, and the oldest ones do not wait for ever', async () => {
  let time = 0
  const rejected: number[] = []
  const turns = turnsOf(1, () => {}, {
    bounds: { waitMaxMs: 20, burstMaxMs: 10 },
    reject(item) {
      rejected.push(item)
      time++
    },
    now: () => time,
  })
  for (const item of [-3, -2, -1]) turns.add(item)
  time = 11
  for (let item = 0; item < 2_000; item++) turns.add(item)
  assert.deepEqual(rejected, [])
  for (const item of [2_000, 2_001]) turns.add(item)
  assert.deepEqual(rejected, [0, 1], 'at most 2,000 wait')
  await nextTurn()
  assert.deepEqual(rejected.slice(2), [2_001, 2_000], '2 ms')
  while (rejected.length < 2_002) await nextTurn()
})

test('while requests to reject keep arriving, none waits for ever', async () => {
  let time = 0
  const arrivedAt = new Map<number, number>()
  const turns = turnsOf(1, () => {}, {
    run(item) {
      arrivedAt.delete(item)
      time += 5
    },
    reject(item) {
      arrivedAt.delete(item)
      time += 0.1
    },
    now: () => time,
  })
  let arrived = 0
  const arrive = (count: number) => {
    for (let n = 0; n < count; n++, arrived++) {
      arrivedAt.set(arrived, time)
      turns.add(arrived)
    }
  }
  // In each turn, one is served and about 20 are rejected.
  for (; time < 2_000; await nextTurn()) arrive(21)
  arrive(1_500)
  for (; time < 5_000; await nextTurn()) {
    arrive(21)
    const longestMs = time - Math.min(...arrivedAt.values())
    assert.ok(longestMs < 2_000, `one has waited for ${longestMs} ms`)
  }
  assert.ok(arrivedAt.size > 500, 'they keep arriving')
})

test('also at eight times the capacity, what is served has not waited for long', async () => {
  let time = 0
  const arrivedAt: number[] = []
  const waits: { at: number; ms: number }[] = []
  const turns = turnsOf(100, () => {}, {
    run(item) {
      waits.push({ at: time, ms: time - (arrivedAt[item] as number) })
      time += 1.5
    },
    reject() {
      time += 0.06
    },
    now: () => time,
  })
  const everyMs = 1.5 / 8
  for (let next = everyMs; time < 6_000; ) {
    for (; next <= time; next += everyMs) {
      arrivedAt.push(next)
      turns.add(arrivedAt.length - 1)
      time += 0.03
    }
    time += 0.01
    await nextTurn()
  }
  const late = waits.filter(({ at }) => at > 4_000)
  assert.ok(late.length > 600, `${late.length} were served`)
  assert.ok(
    late.every(({ ms }) => ms <= 200),
    `one waited for ${Math.max(...late.map(({ ms }) => ms))} ms`,
  )
})
