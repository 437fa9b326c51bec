import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { useService } from '../support/useService.ts'

const service = useService({}, { additional: new URL('../support/additionalOperations.ts', import.meta.url) })

const send = (body: string, idempotencyKey?: string) =>
  service.request('POST', '/v1/test/pets/1/pictures', {
    key: service.operatorKey,
    headers: { 'content-type': 'image/webp', ...(idempotencyKey && { 'idempotency-key': idempotencyKey }) },
    body,
  })
const stateOf = async () =>
  (await service.request('GET', '/v1/test/state', { key: service.operatorKey })).json as {
    prepared: number
    transactions: number
  }
/** How often requests were prepared, and transactions run, during the work. */
async function countsOf(work: () => Promise<unknown>) {
  const before = await stateOf()
  await work()
  const after = await stateOf()
  return [after.prepared - before.prepared, after.transactions - before.transactions]
}

describe('the preparation of a write', () => {
  test('runs once, before the transaction, which gets its result', async () => {
    for (const key of [undefined, 'once']) {
      const { prepared } = await stateOf()
      const counts = await countsOf(async () => {
        const { status, json } = await send('a picture', key)
        assert.deepEqual([status, json.prepared], [201, prepared + 1])
      })
      assert.deepEqual(counts, [1, 1])
    }
  })

  test('is not repeated for a request whose response is replayed', async () => {
    const first = await send('a picture', 'replayed')
    const counts = await countsOf(async () => {
      const again = await send('a picture', 'replayed')
      assert.deepEqual([again.status, again.text], [201, first.text])
      assert.equal(again.headers['idempotent-replayed'], 'true')
      assert.equal(again.headers.location, first.headers.location)
      assert.equal((await send('another picture', 'replayed')).status, 422)
    })
    assert.deepEqual(counts, [0, 0])
  })

  test('can reject the request, which is stored', async () => {
    const counts = await countsOf(async () => {
      for (const isReplayed of [undefined, 'true']) {
        const { status, json, headers } = await send('reject this', 'rejected')
        assert.deepEqual([status, json.code], [409, 'pet_unavailable'])
        assert.equal(headers['idempotent-replayed'], isReplayed)
      }
    })
    assert.deepEqual(counts, [1, 0])
    assert.equal((await send('reject this')).status, 409)
  })

  test('that fails is not stored: a retry runs it again', async () => {
    const counts = await countsOf(async () => {
      for (let attempt = 0; attempt < 2; attempt++) assert.equal((await send('fail', 'failed')).status, 500)
    })
    assert.deepEqual(counts, [2, 0])
    assert.equal((await send('fail')).status, 500)
  })

  test('does not run for invalid input', async () => {
    const counts = await countsOf(async () => {
      for (let attempt = 0; attempt < 2; attempt++) assert.equal((await send('', 'empty')).status, 400)
    })
    assert.deepEqual(counts, [0, 0])
  })

  test('runs once if the same request arrives again during it', async () => {
    const counts = await countsOf(async () => {
      const { prepared } = await stateOf()
      const first = send('wait', 'concurrent')
      await eventually('it is prepared', async () => (await stateOf()).prepared > prepared)
      const second = await send('wait', 'concurrent')
      assert.deepEqual([second.status, second.json.code], [409, 'idempotency_in_progress'])
      assert.equal((await send('another', 'concurrent')).status, 422)
      await service.request('DELETE', '/v1/test/state', { key: service.operatorKey })
      assert.equal((await first).status, 201)
      assert.equal((await send('wait', 'concurrent')).text, (await first).text)
    })
    assert.deepEqual(counts, [1, 1])
  })
})
