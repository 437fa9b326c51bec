import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newOrderSchema } from '../../src/orders/schemas.ts'
import { startTestService } from '../support/service.ts'

async function orderingFor(t: TestContext) {
  const service = await startTestService()
  t.after(() => service.stop())
  const key = service.operatorKey
  const { json: pet } = await service.request('POST', '/v1/pets', {
    key,
    body: { name: 'Milo', categoryId: 1 },
  })
  const { safeParse } = newOrderSchema
  let count = 0
  const counted: typeof safeParse = (...args) => {
    count++
    return safeParse(...args)
  }
  Object.defineProperty(newOrderSchema, 'safeParse', { value: counted, configurable: true })
  t.after(() => Object.defineProperty(newOrderSchema, 'safeParse', { value: safeParse, configurable: true }))
  const order = async (body: object, headers = {}) =>
    (await service.request('POST', '/v1/store/orders', { key, body, headers })).status
  return { petId: pet.id as number, order, validations: () => count }
}

for (const [what, headers] of [
  ['with an Idempotency-Key', { 'idempotency-key': 'one' }],
  ['without an Idempotency-Key', {}],
] as const) {
  test(`the input of a write ${what} is validated once, not again in the transaction`, async (t) => {
    const { petId, order, validations } = await orderingFor(t)
    assert.equal(await order({ petId }, headers), 201)
    assert.equal(validations(), 1)
  })

  test(`invalid input of a write ${what} is validated once`, async (t) => {
    const { order, validations } = await orderingFor(t)
    assert.equal(await order({ petId: 'none' }, headers), 400)
    assert.equal(validations(), 1)
  })
}
