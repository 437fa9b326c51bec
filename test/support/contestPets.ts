import assert from 'node:assert/strict'
import { createClient } from './client.ts'
import type { OrderClient } from './orderClient.ts'
import { assertError } from './responses.ts'

/** Many callers order the same pet at once, for several pets. Exactly one of them gets it. */
export async function contestPets(
  orderClient: OrderClient,
  { contests, simultaneous }: { contests: number; simultaneous: number },
): Promise<void> {
  // Two clients, because one has at most 256 connections.
  const clients = [createClient(orderClient.service.base), createClient(orderClient.service.base)] as const
  try {
    for (let contest = 0; contest < contests; contest++) {
      const petId = await orderClient.addPet()
      const newest = await orderClient.newestEventId()
      const responses = await Promise.all(
        Array.from({ length: simultaneous }, (_, n) =>
          clients[n % 2 === 0 ? 0 : 1].request('POST', '/v1/store/orders', {
            key: orderClient.key,
            body: { petId, customer: { name: `Customer ${n}` } },
            // In every other round the callers retry.
            headers: contest % 2 === 0 ? {} : { 'idempotency-key': `contest-${contest}-${n}` },
          }),
        ),
      )
      const [winner, ...others] = responses.filter(({ status }) => status === 201)
      assert.deepEqual(others, [])
      for (const response of responses) if (response !== winner) assertError(response, 409, 'pet_unavailable')
      assert.deepEqual((await orderClient.call('GET', `/v1/store/orders?petId=${petId}`)).json, [
        winner?.json,
      ])
      const events = await orderClient.eventsAfter(newest)
      assert.deepEqual(
        events.map(({ type, data }) => [type, data.status]),
        [
          ['order.placed', 'placed'],
          ['pet.updated', 'pending'],
        ],
      )
    }
  } finally {
    for (const client of clients) client.closeConnections()
  }
}
