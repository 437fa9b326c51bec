import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openDatabaseFor } from '../support/engine.ts'

const within = <T>(work: Promise<T>): Promise<T | 'waits forever'> =>
  Promise.race([work, pause(5_000, 'waits forever' as const, { ref: false })])

/** The number of turns of the event loop before the next write. */
const steps = async (count: number): Promise<void> => {
  for (let step = 0; step < count; step++) await undefined
}

test('a write directly after one that was committed or rolled back is committed', async (t) => {
  const { database } = await openDatabaseFor(t)
  for (const outcome of ['committed', 'rolled back']) {
    const write = () =>
      database.write(async () => {
        if (outcome === 'rolled back') throw new Error('rolled back')
        return outcome
      })
    const settled = () => write().catch((error: Error) => error.message)
    // Synchronously: any wait would let the queue become idle.
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
  }
})
