import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RequestOptions } from '../support/client.ts'
import { isReplay, milo, useIdempotency } from '../support/idempotentCalls.ts'
import { assertError } from '../support/responses.ts'

const { call, newKey, post, petsNamed } = useIdempotency()

test('a replay counts against the rate limit and shows what is left now', async () => {
  const idempotencyKey = newKey()
  const { headers: first } = await post(idempotencyKey)
  const { headers: again } = await post(idempotencyKey)
  assert.equal(Number(again['x-ratelimit-remaining']), Number(first['x-ratelimit-remaining']) - 1)
})

test('without a key every request is a new one', async () => {
  const body = { name: 'twice', categoryId: 3 }
  const [one, two] = [await call('POST', '/v1/pets', { body }), await call('POST', '/v1/pets', { body })]
  assert.notEqual(one.json.id, two.json.id)
})

test('a key may be bare or quoted: it is the same key', async () => {
  const idempotencyKey = newKey()
  const first = await post(idempotencyKey)
  const quoted = await post(`"${idempotencyKey}"`)
  assert.ok(isReplay(quoted))
  assert.equal(quoted.text, first.text)
})

for (const good of [
  '!',
  '~',
  'a'.repeat(255),
  `"${'b'.repeat(255)}"`,
  'a:b/c,d;e',
  '8e03978e-40d5-43dd-bc93-6894a57f9324',
]) {
  test(`a key of visible characters is taken: ${good.slice(0, 40)}`, async () => {
    const first = await post(good)
    assert.equal(first.status, 201)
    assert.ok(isReplay(await post(good)))
  })
}

for (const bad of ['', ' ', '""', 'a b', 'a\tb', 'a'.repeat(256), `"${'a'.repeat(256)}"`, 'é', '" "']) {
  test(`an invalid key is rejected, and nothing is added: ${JSON.stringify(bad).slice(0, 40)}`, async () => {
    const body = { name: `bad key ${bad.length}`, categoryId: 3 }
    const rejected = await post(bad, { body })
    assertError(rejected, 400, 'validation_failed')
    assert.equal(rejected.json.details[0].path, 'Idempotency-Key')
    assert.equal(await petsNamed(body.name), 0)
  })
}

test('two Idempotency-Key headers are a bad key', async () => {
  const rejected = await call('POST', '/v1/pets', { body: milo, headers: { 'idempotency-key': ['a', 'b'] } })
  assertError(rejected, 400, 'validation_failed')
})

const storedErrors: [what: string, status: number, options: RequestOptions & { path?: string }][] = [
  ['a body that is no JSON', 400, { body: 'nonsense' }],
  ['no body', 400, {}],
  ['an invalid body', 400, { body: { name: '' } }],
  ['another media type', 415, { body: '{}', headers: { 'content-type': 'text/plain' } }],
]
for (const [what, status, options] of storedErrors) {
  test(`an error response is recorded, too: ${what}`, async () => {
    const idempotencyKey = newKey()
    const send = () =>
      call('POST', '/v1/pets', {
        ...options,
        headers: { 'idempotency-key': idempotencyKey, ...options.headers },
      })
    const first = await send()
    assert.equal(first.status, status, first.text)
    assert.ok(!isReplay(first))
    const again = await send()
    assert.equal(again.status, status)
    assert.ok(isReplay(again))
    assert.equal(again.text, first.text)
    assertError(await post(idempotencyKey), 422, 'idempotency_key_reused')
  })
}

test('on other methods than POST the header means nothing', async () => {
  const { json } = await post(newKey())
  const path = `/v1/pets/${json.id}`
  const headers = { 'idempotency-key': 'a bad key' }
  assert.equal((await call('GET', path, { headers })).status, 200)
  const body = { name: 'Rex' }
  assert.equal((await call('PATCH', path, { body, headers })).status, 200)
  assert.equal((await call('DELETE', path, { headers })).status, 204)
  assert.equal((await call('DELETE', path, { headers })).status, 404)
})
