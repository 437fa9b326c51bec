import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { inDatabase } from '../support/engine.ts'
import { concurrently, makeKey, requestOk, servicesFor } from '../support/instances.ts'
import { amplePlan } from '../support/responses.ts'

test('the figures of all instances add up', async (t) => {
  const { all, first } = await servicesFor(
    t,
    {},
    { bounds: { usageFlushMs: 3_600_000, usageReadFlushMs: 0 } },
    2,
  )
  const { id, key } = await makeKey(first, amplePlan)
  const perRound = 20
  for (let round = 1; round <= 2; round++) {
    await concurrently(all, perRound, (instance) => requestOk(instance, 'GET', '/v1/pets', undefined, key))
    // Each instance adds its figures, both at the same time.
    await concurrently(all, 2, (instance) => requestOk(instance, 'GET', '/v1/usage'))
    for (const instance of all) {
      const usage = (await requestOk(instance, 'GET', `/v1/keys/${id}/usage`)).json
      assert.deepEqual(
        [...usage.minutes, ...usage.hours].map(({ requests }) => requests),
        [perRound * round, perRound * round],
      )
    }
  }
})

test('figures are written without a change of the version of the database', async (t) => {
  const { databaseEnv, first } = await servicesFor(
    t,
    {},
    { bounds: { usageFlushMs: 3_600_000, usageReadFlushMs: 0 } },
    1,
  )
  const version = () =>
    inDatabase(databaseEnv, async ({ read }) => {
      const { rows } = await sql<{
        sum: number
      }>`SELECT sum(changes)::bigint AS sum FROM counter_slots`.execute(read)
      return rows[0]?.sum
    })
  await requestOk(first, 'GET', '/v1/pets')
  const before = await version()
  const { minutes } = (await requestOk(first, 'GET', '/v1/usage')).json
  assert.equal(minutes[0].requests, 1)
  assert.equal(await version(), before)
})
