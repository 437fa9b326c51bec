import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Turns } from '../../src/server/turns.ts'

test('items beyond the limit of a turn run in the next turns, in order', async () => {
  const ran: number[] = []
  const turns = new Turns<number>((item) => ran.push(item), 3)
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
  const turns: Turns<number> = new Turns((item) => {
    ran.push(item)
    if (item < 6) turns.add(item + 1)
  }, 2)
  turns.add(1)
  assert.deepEqual(ran, [1, 2])
  await nextTurn()
  assert.deepEqual(ran, [1, 2, 3])
  while (ran.length < 6) await nextTurn()
  assert.deepEqual(ran, [1, 2, 3, 4, 5, 6])
})
