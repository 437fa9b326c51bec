import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { cliOnNewDatabase } from '../support/commands.ts'
import { amplePlan, assertError } from '../support/responses.ts'
import { serviceFor } from '../support/service.ts'

const { service, call } = useCheckedCalls()
const path = '/v1/store/profile'
let key: string
before(async () => {
  key = (await service.makeKey({ ...amplePlan, scopes: ['pets:read', 'keys:manage', 'events:read'] })).key
})

const change = (body: object, headers = {}) => call('PATCH', path, { key, body, headers })
async function changed(body: object) {
  const response = await change(body)
  assert.equal(response.status, 200, response.text)
  return response.json
}
const lastEntry = async () => (await call('GET', '/v1/audit?limit=1', { key })).json[0]
const storeEvents = async () => {
  const { json } = await call('GET', '/v1/events?limit=1000', { key })
  return json.filter(({ type }: { type: string }) => type === 'store.updated')
}

const empty = {
  ...{ name: null, about: null, phone: null, email: null, url: null, address: null },
  ...{ adoptionPage: false, publicUrl: null },
}
const full = {
  name: 'Paws & Co.',
  about: 'We find homes.\nSince 1987.',
  phone: '+49 30 1234567',
  email: 'hello@shelter.example',
  url: 'https://shelter.example/',
  address: '1 Main Street\nSpringfield',
  adoptionPage: true,
}

describe('the store profile', () => {
  test('has null fields and no adoption page until it is set', async () => {
    const { json, headers, status } = await call('GET', path)
    assert.equal(status, 200)
    assert.deepEqual(json, empty)
    assert.equal(headers['x-stability'], 'beta')
  })

  test('has the address of the service that its operator set', async (t) => {
    const named = await serviceFor(t, { PETSTORE_PUBLIC_URL: 'https://pets.example/' })
    const { json } = await named.request('GET', path, { key: named.operatorKey })
    assert.equal(json.publicUrl, 'https://pets.example')
  })

  test('returns every field as it was given, keeps the others, and clears with null', async () => {
    assert.deepEqual(await changed(full), { ...full, publicUrl: null })
    const json = await changed({ about: null, adoptionPage: null })
    assert.deepEqual(json, { ...full, about: null, adoptionPage: false, publicUrl: null })
    assert.deepEqual((await call('GET', path)).json, json)
  })

  test('is rejected with every problem, and changes nothing', async () => {
    const before = await call('GET', path)
    const wrong: Record<string, unknown[]> = {
      name: ['', ' ', 'x'.repeat(101), 1],
      about: ['x'.repeat(2_001)],
      phone: ['x'.repeat(41), ' '],
      email: ['shelter', 'a@b', 'a b@shelter.example', `${'x'.repeat(250)}@shelter.example`],
      url: ['http://shelter.example', 'javascript:alert(1)', `https://shelter.example/${'x'.repeat(2_048)}`],
      address: ['x'.repeat(501)],
      adoptionPage: ['yes', 1],
    }
    for (const [name, values] of Object.entries(wrong))
      for (const value of values) {
        const response = await change({ about: 'Never stored.', [name]: value })
        assertError(response, 400, 'validation_failed')
        assert.deepEqual(
          response.json.details.map((detail: { path: string }) => detail.path),
          [`/${name}`],
        )
      }
    const strict = { prefer: 'handling=strict' }
    for (const name of ['publicUrl', 'fax'])
      assertError(await change({ [name]: 'https://shelter.example' }, strict), 400, 'validation_failed')
    assert.equal((await call('GET', path)).text, before.text)
  })

  test('is read with pets:read and changed with keys:manage', async () => {
    const reader = (await service.makeKey({ ...amplePlan, scopes: ['pets:read'] })).key
    assert.equal((await call('GET', path, { key: reader })).status, 200)
    const writer = (await service.makeKey({ ...amplePlan, scopes: ['pets:write', 'orders:write'] })).key
    assertError(await call('GET', path, { key: writer }), 403, 'insufficient_scope')
    for (const rejected of [reader, writer])
      assertError(await call('PATCH', path, { key: rejected, body: full }), 403, 'insufficient_scope')
  })

  test('has an ETag that a change can require', async () => {
    const { etag } = (await call('GET', path)).headers
    const response = await change({ name: 'Second Chance' }, { 'if-match': etag })
    assert.equal(response.status, 200)
    assertError(await change({ name: 'Third' }, { 'if-match': etag }), 412, 'precondition_failed')
    const current = String(response.headers.etag)
    assert.notEqual(current, etag)
    assert.equal((await call('GET', path, { headers: { 'if-none-match': current } })).status, 304)
  })

  test('has an event without data and an audit entry for every change, and none without a change', async () => {
    await changed(full)
    const before = (await storeEvents()).length
    await changed({ name: 'Found Home' })
    const events = await storeEvents()
    assert.equal(events.length, before + 1)
    assert.deepEqual(events.at(-1).data, {})
    const entry = await lastEntry()
    assert.deepEqual([entry.action, entry.subject], ['store.updated', 'store profile'])
    await changed({ name: 'Found Home' })
    await changed({})
    assert.equal((await storeEvents()).length, before + 1)
    assert.deepEqual(await lastEntry(), entry)
  })

  test('keeps all of several changes at the same time', async () => {
    const fields = Object.entries(full)
    await changed(Object.fromEntries(fields.map(([name]) => [name, null])))
    await Promise.all(fields.map(([name, value]) => changed({ [name]: value })))
    assert.deepEqual((await call('GET', path)).json, { ...full, publicUrl: null })
  })
})

describe('an import of the store profile', () => {
  const record = (fields: object) => JSON.stringify({ type: 'store', id: 1, ...fields })

  test('adds, keeps and changes it, and an export has it', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const changes = async (...args: [fields: object, ...options: string[]]) => {
      const [fields, ...options] = args
      return (await cli.json(['import', ...options], record(fields))).changes.storeProfiles
    }
    assert.deepEqual(await changes(full, '--dry-run'), { added: 1, changed: 0, unchanged: 0 })
    assert.deepEqual(await changes(full), { added: 1, changed: 0, unchanged: 0 })
    assert.deepEqual(await changes(full), { added: 0, changed: 0, unchanged: 1 })
    assert.deepEqual(await changes({ phone: null }), { added: 0, changed: 1, unchanged: 0 })
    const twice = `${record({ phone: '1' })}\n${record({ phone: '1' })}`
    for (const options of [['--dry-run'], []]) {
      const { changes } = await cli.json(['import', ...options], twice)
      assert.deepEqual(changes.storeProfiles, { added: 0, changed: 1, unchanged: 1 }, options.join())
    }
    assert.deepEqual(await changes({ phone: null }), { added: 0, changed: 1, unchanged: 0 })
    const exported = await cli.export()
    assert.ok(exported.includes(record({ ...full, phone: null })), exported)
    const copy = await cliOnNewDatabase(t)
    await copy.ok(['import', '--with-keys'], exported)
    assert.equal((await copy.export()).split('\n').slice(1).join(), exported.split('\n').slice(1).join())
  })

  test('reports what is wrong with it', async (t) => {
    const cli = await cliOnNewDatabase(t)
    for (const wrong of [{ url: 'http://shelter.example' }, { id: 2 }]) {
      const { code, stderr } = await cli.run(['import'], record(wrong))
      assert.equal(code, 1)
      assert.match(stderr, /Line 1: .*must be an/)
    }
  })
})
