import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cliOnNewDatabase, cliOn as commandsAt, petsIn } from '../support/commands.ts'
import { assertError } from '../support/responses.ts'
import { serviceFor } from '../support/service.ts'

/** Requests can no longer set all of them, but earlier versions accepted them. */
const names = ['\u200b', '\u0301', '\u2066\u2069', '\u3164', '  Milo\u200b ', '\ufe0f', '\u00ad\u180e']
const customer = (name: string) => ({ customer: { name } })

/** An import of names as earlier versions accepted them. */
const records = (): object[] => [
  { type: 'store', id: 1, name: '\u200b' },
  ...names.flatMap((name, index) => [
    { type: 'category', id: index + 1, name },
    { type: 'pet', id: index + 1, name, categoryId: index + 1, status: 'available' },
    {
      ...{ type: 'order', id: index + 1, petId: index + 1, status: 'cancelled', ...customer(name) },
      ...{ note: null, placedAt: 1, updatedAt: 1, holdExpiresAt: null, cancelReason: null },
    },
  ]),
]

test('stored names without a visible character, or with spaces around them, stay in use and in exports', async (t) => {
  const service = await serviceFor(t)
  const cli = commandsAt(service.databaseEnv)
  await cli.ok(
    ['import'],
    records()
      .map((record) => JSON.stringify(record))
      .join('\n'),
  )
  const call = (method: string, path: string, body?: unknown) =>
    service.request(method, path, { key: service.operatorKey, body })
  for (const [index, name] of names.entries()) {
    const id = index + 1
    for (const path of [`/v1/pets/${id}`, `/v1/categories/${id}`])
      assert.equal((await call('GET', path)).json.name, name)
    assert.equal((await call('GET', `/v1/store/orders/${id}`)).json.customer.name, name)
    const changed = await call('PATCH', `/v1/pets/${id}`, { status: 'sold' })
    assert.deepEqual([changed.status, changed.json.name], [200, name])
  }
  assert.equal((await call('GET', '/v1/store/profile')).json.name, '\u200b')
  const kept = await call('PATCH', '/v1/store/profile', { phone: '1' })
  assert.deepEqual([kept.status, kept.json.name], [200, '\u200b'])
  const key = await call('POST', '/v1/keys', { name: 'Feed' })
  const exported = (await cli.export()).replace('"name":"Feed"', '"name":"\u200b"')
  const other = await cliOnNewDatabase(t)
  await other.ok(['import', '--with-keys'], exported)
  const withoutFeed = (text: string) => text.replace(/,"lastEventId":\d+/, '')
  assert.equal(withoutFeed(await other.export()), withoutFeed(exported))
  assert.ok(exported.includes(`"id":${key.json.id},"name":"\u200b"`))
  const third = await cliOnNewDatabase(t)
  await third.ok(['import', '--format', 'csv'], await other.ok(['export', '--format', 'csv']))
  assert.deepEqual(
    (await petsIn(third)).map(({ name }) => name),
    names,
  )
})

const invisible: [what: string, name: string][] = [
  ['zero-width characters', '\u200b\u200d\u2060\ufeff'],
  ['control characters', '\u0007\u001b\u0085'],
  ['combining characters', '\u0301\u20e3'],
  ['format characters', '\u2066\u2069\u00ad\u061c\u{e0041}'],
  ['variation selectors', '\ufe0f\u{e0100}'],
  ['fillers', '\u115f\u3164\uffa0'],
  ['blanks of all kinds', ' \u00a0\u2800\u3000\t\u2028'],
]
test('a request cannot set a name without a visible character', async (t) => {
  const service = await serviceFor(t)
  const call = (method: string, path: string, body?: unknown) =>
    service.request(method, path, { key: service.operatorKey, body })
  const add = async (path: string, body: object): Promise<number> => (await call('POST', path, body)).json.id
  const petId = await add('/v1/pets', { name: 'Milo', categoryId: 3 })
  const categoryId = await add('/v1/categories', { name: 'Rabbits' })
  const keyId = await add('/v1/keys', { name: 'Feed' })
  for (const [what, name] of invisible) {
    for (const [method, path, body, at] of [
      ['POST', '/v1/pets', { name, categoryId: 3 }, '/name'],
      ['PATCH', `/v1/pets/${petId}`, { name }, '/name'],
      ['POST', '/v1/categories', { name }, '/name'],
      ['PATCH', `/v1/categories/${categoryId}`, { name }, '/name'],
      ['POST', '/v1/keys', { name }, '/name'],
      ['PATCH', `/v1/keys/${keyId}`, { name }, '/name'],
      ['POST', '/v1/store/orders', { petId, ...customer(name) }, '/customer/name'],
      ['PATCH', '/v1/store/profile', { name }, '/name'],
    ] as const) {
      const rejected = await call(method, path, body)
      assertError(rejected, 400, 'validation_failed')
      assert.equal(rejected.json.details.length, 1, what)
      assert.equal(rejected.json.details[0].path, at)
    }
  }
  assert.equal((await call('GET', `/v1/pets/${petId}`)).json.name, 'Milo')
  for (const name of ['👩‍👩‍👧', '🇩🇪', '1️⃣', 'ा\u0301क', '٣', '?', '中', 'e\u0301', '\u200fאבא', '\u{1fad8}']) {
    const changed = await call('PATCH', `/v1/pets/${petId}`, { name })
    assert.deepEqual([changed.status, changed.json.name], [200, name])
  }
})
