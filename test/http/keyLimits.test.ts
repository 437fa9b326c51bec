import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertError } from '../support/responses.ts'
import { useService } from '../support/useService.ts'

const minuteMs = 60_000

const service = useService({ PETSTORE_BAN_AFTER_REFUSALS: '2' })

const list = (key: string) => service.request('GET', '/v1/pets', { key })
const own = async (key: string) => (await service.request('GET', '/v1/limits', { key })).json
const asOperator = (id: number) =>
  service.request('GET', `/v1/keys/${id}/limits`, { key: service.operatorKey })

describe('the limits of a key, read by an operator,', () => {
  test('are those that the key itself sees, now and later, and reading them counts nothing', async () => {
    const { id, key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 3 } })
    assert.deepEqual((await asOperator(id)).json, await own(key))
    for (let used = 1; used <= 3; used++) {
      await list(key)
      const { json } = await asOperator(id)
      assert.equal(json.minute.remaining, 3 - used)
      assert.deepEqual(json, await own(key))
    }
    service.advance(minuteMs)
    const { json } = await asOperator(id)
    assert.deepEqual(json.minute, { limit: 3, remaining: 3, resetsAt: null })
    assert.equal(json.day.remaining, json.day.limit - 3)
    assert.deepEqual(json, await own(key))
  })

  test('include its ban until it is lifted', async () => {
    const { id, key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
    for (let i = 0; i < 3; i++) await list(key)
    const banned = await own(key)
    assert.ok(banned.bannedUntil)
    assert.deepEqual((await asOperator(id)).json, banned)
    await service.request('DELETE', `/v1/keys/${id}/ban`, { key: service.operatorKey })
    assert.equal((await asOperator(id)).json.bannedUntil, null)
  })

  test('need the scope keys:manage and an existing key', async () => {
    const { id, key } = await service.makeKey()
    assertError(await service.request('GET', `/v1/keys/${id}/limits`, { key }), 403, 'insufficient_scope')
    assertError(await asOperator(999_999), 404, 'key_not_found')
  })
})
