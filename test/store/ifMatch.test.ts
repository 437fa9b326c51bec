import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import type { ClientResponse } from '../support/client.ts'
import { jpeg } from '../support/images.ts'
import { assertError } from '../support/responses.ts'

const { service, call: callAs } = useCheckedCalls()
const call: typeof callAs = (method, path, options) =>
  callAs(method, path, { key: service.operatorKey, ...options })

let image: Buffer
before(async () => {
  image = await jpeg()
})

const addPet = async (): Promise<number> =>
  (await call('POST', '/v1/pets', { body: { name: 'Milo', categoryId: 3 } })).json.id
const tagOf = ({ headers }: ClientResponse): string => String(headers.etag)
const sending = (etag: string) => ({ headers: { 'if-match': etag } })

type Case = {
  create(): Promise<ClientResponse>
  /** A photo has no operation that returns it alone. */
  isReadable: boolean
  /** Each of them changes the resource. */
  changes: readonly [object, object]
  removal: string
}

const cases: Record<string, Case> = {
  order: {
    create: async () => {
      const customer = { name: 'Ada Example' }
      return call('POST', '/v1/store/orders', { body: { petId: await addPet(), customer, note: 'Call' } })
    },
    isReadable: true,
    changes: [{ status: 'approved' }, { status: 'cancelled' }],
    removal: '/customer',
  },
  key: {
    create: () => call('POST', '/v1/keys', { body: { name: 'Web site' } }),
    isReadable: true,
    changes: [{ name: 'Feed' }, { plan: 'pro' }],
    removal: '',
  },
  photo: {
    create: async () => {
      const headers = { 'content-type': 'image/jpeg' }
      return call('POST', `/v1/pets/${await addPet()}/photos`, { body: image, headers })
    },
    isReadable: false,
    changes: [{ alt: 'Milo sleeps' }, { caption: 'At home' }],
    removal: '',
  },
  webhook: {
    create: () =>
      call('POST', '/v1/webhooks', { body: { url: 'https://shelter.example/', events: ['pet.created'] } }),
    isReadable: true,
    changes: [{ status: 'paused' }, { events: ['pet.deleted'] }],
    removal: '',
  },
}

for (const [name, { create, isReadable, changes, removal }] of Object.entries(cases)) {
  describe(`the ETag of a ${name}`, () => {
    const created = async () => {
      const response = await create()
      assert.equal(response.status, 201, response.text)
      const etag = tagOf(response)
      assert.match(etag, /^"[^"]+"$/)
      const path = String(response.headers.location)
      if (isReadable) assert.equal(tagOf(await call('GET', path)), etag)
      return { path, etag }
    }

    test('makes a change and a removal fail once the state has changed', async () => {
      const { path, etag } = await created()
      const changed = await call('PATCH', path, { body: changes[0], ...sending(etag) })
      assert.equal(changed.status, 200, changed.text)
      const current = tagOf(changed)
      assert.notEqual(current, etag)
      for (const stale of [etag, `W/${current}`, '"other"', 'nonsense', '']) {
        const late = await call('PATCH', path, { body: changes[1], ...sending(stale) })
        assertError(late, 412, 'precondition_failed')
        assertError(await call('DELETE', path + removal, sending(stale)), 412, 'precondition_failed')
        const unchanged = await call('PATCH', path, { body: changes[0] })
        assert.equal(tagOf(unchanged), current)
        assert.equal(unchanged.text, changed.text, 'nothing was changed')
      }
      assert.equal((await call('DELETE', path + removal, sending(current))).status, 204)
    })

    test('lets exactly one of several simultaneous changes succeed', async () => {
      const { path, etag } = await created()
      const responses = await Promise.all(
        Array.from({ length: 12 }, () => call('PATCH', path, { body: changes[0], ...sending(etag) })),
      )
      const statuses = responses.map(({ status }) => status).sort()
      assert.deepEqual(statuses, [200, ...Array.from({ length: 11 }, () => 412)])
    })

    test('matches *', async () => {
      const { path } = await created()
      assert.equal((await call('PATCH', path, { body: changes[0], ...sending('*') })).status, 200)
      assert.equal((await call('DELETE', path + removal, sending('*'))).status, 204)
    })
  })
}

test('the ETag of a key does not change when the key is used, and its response is always complete', async () => {
  const { id, key } = await service.makeKey()
  const path = `/v1/keys/${id}`
  const before = await call('GET', path)
  await service.request('GET', '/v1/pets', { key })
  const after = await call('GET', path, { headers: { 'if-none-match': tagOf(before) } })
  assert.equal(after.status, 200)
  assert.notEqual(after.json.lastUsedAt, before.json.lastUsedAt)
  assert.equal(tagOf(after), tagOf(before))
  assert.equal((await call('DELETE', path, sending(tagOf(before)))).status, 204)
})

for (const [name, path] of [
  ['key', '/v1/keys'],
  ['webhook', '/v1/webhooks'],
] as const) {
  test(`the secret of a ${name} is rotated only in the state that the ETag names`, async () => {
    const { json, headers } = await (cases[name] as Case).create()
    const at = `${path}/${json.id}`
    assertError(await call('POST', `${at}/rotate`, sending('"other"')), 412, 'precondition_failed')
    const rotated = await call('POST', `${at}/rotate`, sending(String(headers.etag)))
    assert.equal(rotated.status, 200, rotated.text)
    assert.equal(tagOf(rotated), tagOf(await call('GET', at)), 'it is not computed from the secret')
  })
}

test('the ban of a key is lifted only if the key has not changed', async () => {
  const { id } = await service.makeKey()
  assertError(await call('DELETE', `/v1/keys/${id}/ban`, sending('"other"')), 412, 'precondition_failed')
  const etag = tagOf(await call('GET', `/v1/keys/${id}`))
  assert.equal((await call('DELETE', `/v1/keys/${id}/ban`, sending(etag))).status, 204)
})

test('the ETag of an order is the same for a caller that may not read it, and changes if the customer is erased', async () => {
  const order = await (cases.order as Case).create()
  const path = `/v1/store/orders/${order.json.id}`
  const { key } = await service.makeKey({ scopes: ['orders:write'] })
  const unread = await call('PATCH', path, { key, body: { status: 'placed' } })
  assert.equal(unread.json.customer, undefined)
  assert.equal(tagOf(unread), tagOf(order))
  assert.equal((await call('DELETE', `${path}/customer`, sending(tagOf(order)))).status, 204)
  const late = await call('PATCH', path, { body: { status: 'approved' }, ...sending(tagOf(order)) })
  assertError(late, 412, 'precondition_failed')
})

test('the ETag of a photo changes with its position', async () => {
  const headers = { 'content-type': 'image/jpeg' }
  const photos = `/v1/pets/${await addPet()}/photos`
  const [first, second] = [
    await call('POST', photos, { body: image, headers }),
    await call('POST', photos, { body: image, headers }),
  ]
  assert.equal((await call('DELETE', `${photos}/${first.json.id}`)).status, 204)
  const path = `${photos}/${second.json.id}`
  const stale = await call('PATCH', path, { body: { position: 0 }, ...sending(tagOf(second)) })
  assertError(stale, 412, 'precondition_failed')
  const current = tagOf(await call('PATCH', path, { body: {} }))
  assert.equal((await call('DELETE', path, sending(current))).status, 204)
})

test('an ETag without its quotation marks is rejected with a message of its own', async () => {
  const { id } = (await call('POST', '/v1/pets', { body: { name: 'Luna', categoryId: 3 } })).json
  const path = `/v1/pets/${id}`
  const etag = tagOf(await call('GET', path))
  for (const sent of [etag.replaceAll('"', ''), etag.slice(0, -1), '']) {
    const rejected = await call('DELETE', path, sending(sent))
    assertError(rejected, 412, 'precondition_failed')
    assert.match(rejected.json.message, /quotes/)
  }
  assert.equal((await call('DELETE', path, sending(etag))).status, 204)
})

test('a weak ETag is rejected with a message of its own', async () => {
  const { id } = (await call('POST', '/v1/pets', { body: { name: 'Luna', categoryId: 3 } })).json
  const path = `/v1/pets/${id}`
  const etag = tagOf(await call('GET', path))
  for (const sent of [`W/${etag}`, `"other", W/${etag}`]) {
    const rejected = await call('DELETE', path, sending(sent))
    assertError(rejected, 412, 'precondition_failed')
    assert.match(rejected.json.message, /weak/)
    assert.doesNotMatch(rejected.json.message, /has changed/)
  }
  assert.equal((await call('DELETE', path, sending(`W/${etag}, ${etag}`))).status, 204)
})
