import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'

const additional = new URL('../support/additionalOperations.ts', import.meta.url)
const service = useService({}, { additional })
let other: TestService
before(async () => {
  other = await startTestService({ ...service.databaseEnv }, { additional })
})
after(() => other?.stop())

const send = (instance: TestService, body: string, idempotencyKey: string) =>
  instance.request('POST', '/v1/test/pets/1/pictures', {
    key: service.operatorKey,
    headers: { 'content-type': 'image/webp', 'idempotency-key': idempotencyKey },
    body,
  })
const stateOf = async () =>
  (await service.request('GET', '/v1/test/state', { key: service.operatorKey })).json as {
    prepared: number
    transactions: number
  }
const categories = async () =>
  (await service.request('GET', '/v1/categories', { key: service.operatorKey })).json as { name: string }[]

test('a transaction that is repeated gets the result of one preparation', async () => {
  const before = await stateOf()
  const { status, json } = await send(service, 'conflict', 'repeated')
  assert.deepEqual([status, json.prepared], [201, before.prepared + 1])
  const after = await stateOf()
  assert.deepEqual([after.prepared - before.prepared, after.transactions - before.transactions], [1, 3])
  const names = (await categories()).map(({ name }) => name)
  assert.deepEqual(names, [json.digest.slice(0, 20)], 'the failed transactions have left nothing')
})

test('two instances that get the same request prepare it each, and one of them writes', async () => {
  const { prepared, transactions } = await stateOf()
  const count = (await categories()).length
  // Both instances are in this process, so they share the counts.
  const responses = [send(service, 'wait', 'shared'), send(other, 'wait', 'shared')]
  await eventually('both prepare', async () => (await stateOf()).prepared === prepared + 2)
  await service.request('DELETE', '/v1/test/state', { key: service.operatorKey })
  const [first, second] = await Promise.all(responses)
  assert.deepEqual([first?.status, second?.status], [201, 201])
  assert.equal(first?.text, second?.text)
  assert.equal((await stateOf()).transactions, transactions + 1)
  assert.equal((await categories()).length, count + 1)
})
