import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openDatabaseFor } from '../support/engine.ts'

const within = <T>(work: Promise<T>): Promise<T | 'waits for ever'> =>
  Promise.race([work, pause(5_000, 'waits for ever' as const, { ref: false })])

/** So many turns of what is done between two events come before the next write. */
const steps = async (count: number): Promise<void> => {
  for (let step = 0; step < count; step++) await undefined
}

for (const outcome of ['done', 'refused']) {
  test(`a write that follows right after one that was ${outcome} is not forgotten`, async (t) => {
    const { database } = await openDatabaseFor(t)
    const write = () =>
      database.write(async () => {
        if (outcome === 'refused') throw new Error('refused')
        return 'done'
      })
    const settled = () => write().catch((error: Error) => error.message)
    // In one go, with nothing in between: a wait of any kind would let the queue come to rest.
    assert.deepEqual(
      await within(
        (async () => {
          await settled()
          return settled()
        })(),
      ),
      outcome,
    )
    for (let count = 1; count <= 6; count++) {
      const next = (async () => {
        await settled()
        await steps(count)
        return settled()
      })()
      assert.equal(await within(next), outcome, `${count} steps later`)
    }
  })
}
