import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashApiKey } from '../../src/auth/apiKey.ts'
import { adminKey, concurrently, makeKey, requestOk, servicesFor } from '../support/instances.ts'
import { amplePlan } from '../support/responses.ts'
import type { TestService } from '../support/service.ts'

const rounds = 8
const aheadMs = 10_000

/** Only the secret of the last rotation has no end. */
async function currentOf(service: TestService, id: number, secrets: readonly string[]): Promise<string> {
  const { read } = await service.openDatabase()
  const rows = await read
    .selectFrom('api_key_secrets')
    .select('hash')
    .where('key_id', '=', id)
    .where('expires_at', 'is', null)
    .execute()
  assert.equal(rows.length, 1, 'one secret has no end')
  const current = secrets.find((secret) => hashApiKey(secret) === rows[0]?.hash)
  assert.ok(current, 'a rotation returned it')
  return current
}

test('concurrent rotations at three instances with different clocks never end the current secret', async (t) => {
  const { all, first } = await servicesFor(t)
  all[1]?.advance(aheadMs)
  all[2]?.advance(-aheadMs)
  const { id } = await makeKey(first, amplePlan)
  const rotate = async (instance: TestService): Promise<string> =>
    (await requestOk(instance, 'POST', `/v1/keys/${id}/rotate`, { overlapSeconds: 60 }, adminKey)).json.key
  const statusesOf = async (secret: string) =>
    (await concurrently(all, all.length, ({ request }) => request('GET', '/v1/pets', { key: secret }))).map(
      ({ status }) => status,
    )
  const success = all.map(() => 200)
  for (let round = 0; round < rounds; round++) {
    const current = await currentOf(first, id, await concurrently(all, 2 * all.length, rotate))
    assert.deepEqual(await statusesOf(current), success, 'the current secret')
    const next = await rotate(all[round % all.length] as TestService)
    assert.deepEqual(await statusesOf(next), success, 'the new secret')
    assert.deepEqual(await statusesOf(current), success, 'the one before, within its overlap')
  }
})
