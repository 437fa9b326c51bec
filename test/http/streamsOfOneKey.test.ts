import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { planLimits } from '../../src/limits/plans.ts'
import { type EventStreamClient, openEventStream } from '../support/eventStreamClient.ts'
import { eventually } from '../support/eventually.ts'
import { amplePlan, assertError } from '../support/responses.ts'
import { useService } from '../support/useService.ts'

const scopes = ['events:read']
const banAfter = 3

const streams: EventStreamClient[] = []
after(() => {
  for (const stream of streams) stream.disconnect()
})
const service = useService({ PETSTORE_BAN_AFTER_REFUSALS: String(banAfter) })

async function open(key: string): Promise<EventStreamClient> {
  const stream = await openEventStream(service.base, { key })
  streams.push(stream)
  return stream
}
const openMany = (key: string, count: number) => Promise.all(Array.from({ length: count }, () => open(key)))
const send = (key: string) =>
  service.request('GET', '/v1/events', { key, headers: { accept: 'text/event-stream' } })
const assertAllOpen = (opened: readonly EventStreamClient[]) =>
  assert.deepEqual(new Set(opened.map(({ status }) => status)), new Set([200]))

describe('the plan of a key limits its streams', () => {
  const plans: [name: string, settings: Record<string, unknown>, max: number][] = [
    ['free', { plan: 'free' }, 2],
    ['pro', { plan: 'pro' }, 10],
    ['business', { plan: 'business' }, 50],
    ['enterprise with its own limit', { plan: 'enterprise', limits: { streams: 3 } }, 3],
  ]
  for (const [name, settings, max] of plans) {
    test(`${name}: ${max}, and one more gets 429 until another ends`, async () => {
      const { key } = await service.makeKey({ ...settings, scopes })
      const opened = await openMany(key, max)
      assertAllOpen(opened)
      const rejected = await send(key)
      assertError(rejected, 429, 'too_many_streams')
      assert.match(String(rejected.headers['retry-after']), /^[1-9]\d*$/)
      assert.match(rejected.json.message, new RegExp(`\\b${max}\\b`))
      assert.equal((await service.request('GET', '/v1/events', { key })).status, 200)
      opened[0]?.disconnect()
      await eventually('there is room again', async () => (await open(key)).status === 200)
      assert.equal((await open(key)).status, 429)
    })
  }

  test('enterprise: 1,000 by default', () => {
    assert.deepEqual(
      Object.entries(planLimits).map(([plan, { streams: max }]) => [plan, max]),
      [
        ['free', 2],
        ['pro', 10],
        ['business', 50],
        ['enterprise', 1_000],
      ],
    )
  })

  test('enterprise: more than any other plan', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', scopes })
    const opened = await openMany(key, planLimits.business.streams + 10)
    assertAllOpen(opened)
    for (const stream of opened) stream.disconnect()
  })

  test('other keys are not affected', async () => {
    const [greedy, other] = [await service.makeKey({ scopes }), await service.makeKey({ scopes })]
    await openMany(greedy.key, planLimits.free.streams + 1)
    assertAllOpen(await openMany(other.key, planLimits.free.streams))
  })

  test('both secrets of a rotation share the limit', async () => {
    const { id, key } = await service.makeKey({ scopes })
    const { json } = await service.request('POST', `/v1/keys/${id}/rotate`, {
      key: service.operatorKey,
      body: { overlapSeconds: 3_600 },
    })
    assertAllOpen([await open(key), await open(json.key)])
    for (const secret of [key, json.key]) assertError(await send(secret), 429, 'too_many_streams')
  })

  test('a change by the operator applies', async () => {
    const { id, key } = await service.makeKey({ ...amplePlan, limits: { streams: 1 }, scopes })
    await open(key)
    assertError(await send(key), 429, 'too_many_streams')
    const body = { limits: { streams: 2 } }
    await service.request('PATCH', `/v1/keys/${id}`, { key: service.operatorKey, body })
    assertAllOpen([await open(key)])
    assertError(await send(key), 429, 'too_many_streams')
  })
})

test('a stream above the limit counts as a request and never leads to a ban', async () => {
  const { key } = await service.makeKey({ scopes })
  await openMany(key, planLimits.free.streams)
  const left = async () => {
    const { minute, bannedUntil } = (await service.request('GET', '/v1/limits', { key })).json
    assert.equal(bannedUntil, null)
    return minute.remaining as number
  }
  const before = await left()
  for (let n = 0; n < banAfter * 3; n++) assertError(await send(key), 429, 'too_many_streams')
  assert.equal(await left(), before - banAfter * 3)
  assert.equal((await service.request('GET', '/v1/events', { key })).status, 200)
})
