import { test } from 'node:test'
import { contestPets } from '../support/contestPets.ts'
import { startOrderClient } from '../support/orderClient.ts'

test('exactly one of many simultaneous orders for one pet is placed, 20 times', async (t) => {
  const orderClient = await startOrderClient()
  t.after(() => orderClient.service.stop())
  await contestPets(orderClient, { contests: 20, simultaneous: 500 })
})
