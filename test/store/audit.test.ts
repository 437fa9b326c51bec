import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { cliOn } from '../support/commands.ts'
import { databaseText } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { listAllItems } from '../support/instances.ts'
import { assertError, nextPage } from '../support/responses.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/useService.ts'
import { loopbackAllowed, startWebhookReceiver, type WebhookReceiver } from '../support/webhookReceiver.ts'

type Entry = {
  id: number
  at: string
  actor: { keyId: number } | { command: string }
  action: string
  subject: string
  requestId?: string
}

const dayMs = 24 * 60 * 60 * 1000
const service = useService({ ...loopbackAllowed, PETSTORE_BAN_AFTER_REFUSALS: '2' })
let receiver: WebhookReceiver
before(async () => {
  receiver = await startWebhookReceiver()
})
after(() => receiver.stop())

let requests = 0
/** A request of the operator with a request id of its own. */
async function send(method: string, path: string, body?: unknown, expected?: number) {
  const requestId = `request-${++requests}`
  const key = service.operatorKey
  const response = await service.request(method, path, { key, body, headers: { 'x-request-id': requestId } })
  if (expected === undefined) assert.ok(response.status < 300, response.text)
  else assert.equal(response.status, expected, response.text)
  return { ...response, requestId }
}
const entries = (): Promise<Entry[]> => listAllItems(service, '/v1/audit?limit=100', service.operatorKey)
/** The entries that the work adds, oldest first, without what all of them have. */
async function entriesOf(work: () => Promise<unknown>) {
  const before = (await entries())[0]?.id ?? 0
  await work()
  const added = (await entries()).filter(({ id }) => id > before).reverse()
  for (const { at } of added) assert.equal(at, new Date(service.now()).toISOString())
  return added.map(({ id: _id, at: _at, ...entry }) => entry)
}
const operator = { keyId: 1 }

describe('each change adds one entry, with the key that made it and the request', () => {
  test('of a key', async () => {
    let id = 0
    const changes: [action: string, change: () => Promise<{ requestId: string; json: { id: number } }>][] = [
      ['created', () => send('POST', '/v1/keys', { name: 'Partner' })],
      ['updated', () => send('PATCH', `/v1/keys/${id}`, { plan: 'pro' })],
      ['rotated', () => send('POST', `/v1/keys/${id}/rotate`, { overlapSeconds: 60 })],
      ['unbanned', () => send('DELETE', `/v1/keys/${id}/ban`)],
      ['revoked', () => send('DELETE', `/v1/keys/${id}`)],
    ]
    for (const [action, change] of changes) {
      let requestId = ''
      const added = await entriesOf(async () => {
        const response = await change()
        requestId = response.requestId
        if (action === 'created') id = response.json.id
      })
      const entry = { actor: operator, action: `key.${action}`, subject: `key ${id}`, requestId }
      assert.deepEqual(added, [entry])
    }
  })

  test('of a webhook', async () => {
    const hook = { url: receiver.url, events: ['pet.deleted'] }
    let id = 0
    const path = () => `/v1/webhooks/${id}`
    const change = async (actions: string[], run: () => Promise<{ requestId: string; json: unknown }>) => {
      let requestId = ''
      const added = await entriesOf(async () => {
        const response = await run()
        requestId = response.requestId
        if (actions[0] === 'created') id = (response.json as { id: number }).id
      })
      assert.deepEqual(
        added,
        actions.map((action) => ({
          ...{ actor: operator, action: `webhook.${action}`, requestId },
          subject: action === 'retried' ? `webhook ${id} delivery ${deliveryId}` : `webhook ${id}`,
        })),
      )
    }
    let deliveryId = 0
    await change(['created'], () => send('POST', '/v1/webhooks', hook))
    await change(['tested'], async () => {
      const response = await send('POST', `${path()}/test`)
      deliveryId = response.json.id
      return response
    })
    await receiver.until(1)
    await change(['retried'], () => send('POST', `${path()}/deliveries/${deliveryId}/retry`))
    await change(['paused'], () => send('PATCH', path(), { status: 'paused' }))
    await change(['resumed'], () => send('PATCH', path(), { status: 'enabled' }))
    await change(['updated'], () => send('PATCH', path(), { events: ['pet.created'] }))
    await change(['updated', 'paused'], () =>
      send('PATCH', path(), { events: ['pet.updated'], status: 'paused' }),
    )
    await change([], () => send('PATCH', path(), { status: 'paused', url: hook.url }))
    await change(['rotated'], () => send('POST', `${path()}/rotate`))
    await change(['deleted'], () => send('DELETE', path()))
  })

  test('that disables a webhook, by the service', async () => {
    receiver.reply = 410
    const { id } = (await send('POST', '/v1/webhooks', { url: receiver.url, events: ['pet.deleted'] })).json
    const added = await entriesOf(async () => {
      await send('POST', `/v1/webhooks/${id}/test`)
      await eventually('the webhook is disabled', async () => {
        const { json } = await send('GET', `/v1/webhooks/${id}`)
        return json.status === 'disabled'
      })
    })
    const entry = { actor: { command: 'serve' }, action: 'webhook.disabled', subject: `webhook ${id}` }
    assert.deepEqual(added[1], entry)
    assert.equal(added.length, 2)
  })

  test('for the ban of a key, by the service', async () => {
    const limits = { plan: 'enterprise', limits: { perMinute: 1 } }
    const { id, key } = await service.makeKey(limits)
    const added = await entriesOf(async () => {
      for (let index = 0; index < 4; index++) await service.request('GET', '/v1/pets', { key })
      await eventually('the entry of the ban', async () => (await entries())[0]?.action === 'key.banned')
    })
    const entry = { actor: { command: 'serve' }, action: 'key.banned', subject: `key ${id}` }
    assert.deepEqual(added, [entry])
  })

  test('for the erasure of customer data, which it does not contain', async () => {
    const pet = (await send('POST', '/v1/pets', { name: 'Milo', categoryId: 1 })).json
    const customer = { name: 'Zoë Quux', email: 'zoe@example.org' }
    const order = (await send('POST', '/v1/store/orders', { petId: pet.id, customer })).json
    let requestId = ''
    const added = await entriesOf(async () => {
      requestId = (await send('DELETE', `/v1/store/orders/${order.id}/customer`)).requestId
    })
    const subject = `order ${order.id}`
    assert.deepEqual(added, [{ actor: operator, action: 'order.customer_erased', subject, requestId }])
  })

  test('by the key that sent the request', async () => {
    const manager = await service.makeKey({ scopes: ['keys:manage'] })
    const added = await entriesOf(() =>
      service.request('POST', '/v1/keys', { key: manager.key, body: { name: 'Second' } }),
    )
    assert.deepEqual(added[0]?.actor, { keyId: manager.id })
    assert.match(String(added[0]?.requestId), /^[\w-]{22}$/)
  })
})

describe('commands', () => {
  test('are named as the actor, without a request', async () => {
    const cli = cliOn(service.databaseEnv)
    const { id } = await cli.json(['keys', 'create', '--name', 'From the shell'])
    await cli.ok(['keys', 'update', String(id), '--plan', 'pro'])
    await cli.ok(['keys', 'rotate', String(id)])
    await cli.ok(['keys', 'unban', String(id)])
    await cli.ok(['keys', 'revoke', String(id)])
    const added = (await entries()).filter(({ subject }) => subject === `key ${id}`).reverse()
    assert.deepEqual(
      added.map(({ id: _id, at: _at, ...entry }) => entry),
      ['create', 'update', 'rotate', 'unban', 'revoke'].map((name) => ({
        actor: { command: `keys ${name}` },
        action: `key.${name}${name.endsWith('e') ? 'd' : ''}`.replace(/unban$/, 'unbanned'),
        subject: `key ${id}`,
      })),
    )
  })

  test('an import adds one entry, and one for each key that it changes', async () => {
    const cli = cliOn(service.databaseEnv)
    const exported = await cli.export()
    // Later, so that the operator keys of both databases are not taken for the same.
    const other = await startTestService({}, { startAt: service.now() + 1 })
    try {
      const target = cliOn(other.databaseEnv)
      await target.ok(['import', '--with-keys'], exported)
      const { json } = await other.request('GET', '/v1/audit?limit=100', { key: other.operatorKey })
      const keys = exported.split('\n').filter((line) => line.startsWith('{"type":"key"')).length
      const byImport = (json as Entry[]).filter(
        ({ actor }) => 'command' in actor && actor.command === 'import',
      )
      const [first, ...others] = byImport.toReversed()
      assert.deepEqual([first?.action, first?.subject], ['database.imported', 'database'])
      assert.ok(others.every(({ action }) => action === 'key.created'))
      assert.equal(others.length, keys)
      await target.run(['import'], '{"name":')
      const after = await other.request('GET', '/v1/audit?limit=100', { key: other.operatorKey })
      assert.equal(after.json.length, json.length, 'a rejected import adds none')
    } finally {
      await other.stop()
    }
  })

  test('the operator key of a start adds an entry only if it changes', async (t) => {
    const first = await startTestService({ PETSTORE_ADMIN_KEY: 'the-first-admin-key-of-the-service' })
    t.after(() => first.stop())
    const read = async (key: string) => (await first.request('GET', '/v1/audit', { key })).json as Entry[]
    const created = await read('the-first-admin-key-of-the-service')
    assert.deepEqual(
      created.map(({ actor, action, subject }) => [actor, action, subject]),
      [[{ command: 'serve' }, 'key.created', 'key 1']],
    )
    await first.restart()
    assert.equal((await read('the-first-admin-key-of-the-service')).length, 1)
    await first.restart({ PETSTORE_ADMIN_KEY: 'the-second-admin-key-of-the-service' })
    assert.deepEqual(
      (await read('the-second-admin-key-of-the-service')).map(({ action }) => action),
      ['key.updated', 'key.created'],
    )
  })
})

describe('no entry is added', () => {
  test('by a change that fails, or that changes nothing', async () => {
    const { id } = await service.makeKey()
    await send('DELETE', `/v1/keys/${id}`)
    const added = await entriesOf(async () => {
      await send('POST', '/v1/keys', { name: '' }, 400)
      await send('POST', '/v1/keys', { name: 'x', expiresAt: '2001-01-01T00:00:00Z' }, 400)
      await send('PATCH', '/v1/keys/999999', { name: 'x' }, 404)
      await send('POST', `/v1/keys/${id}/rotate`, {}, 409)
      await send('DELETE', `/v1/keys/${id}`)
      await send('PATCH', `/v1/keys/${id}`, {})
      await send('POST', '/v1/webhooks', { url: 'http://192.0.2.1/', events: ['pet.created'] }, 400)
      await send('DELETE', '/v1/webhooks/999999', undefined, 404)
      await send('POST', '/v1/webhooks/999999/test', undefined, 404)
      await send('DELETE', '/v1/store/orders/999999/customer', undefined, 404)
    })
    assert.deepEqual(added, [])
  })

  test('by a repeated request, and by a transaction that is rolled back', async (t) => {
    const headers = { 'idempotency-key': 'audit-once' }
    const key = service.operatorKey
    const create = () => service.request('POST', '/v1/keys', { key, headers, body: { name: 'Once' } })
    const added = await entriesOf(async () => {
      assert.equal((await create()).status, 201)
      assert.equal((await create()).status, 201)
    })
    assert.equal(added.length, 1)
    const broken = await startTestService()
    t.after(() => broken.stop())
    const database = await broken.openDatabase()
    const rename = (from: string, to: string) =>
      database.write((trx) => trx.schema.alterTable(from).renameTo(to).execute())
    await rename('api_key_secrets', 'out_of_reach')
    const request = { key: broken.operatorKey, body: { name: 'Never' } }
    assert.ok((await broken.request('POST', '/v1/keys', request)).status >= 500)
    await rename('out_of_reach', 'api_key_secrets')
    const { json } = await eventually('the key works again', async () => {
      const response = await broken.request('GET', '/v1/audit', { key: broken.operatorKey })
      return response.status === 200 && response
    })
    assert.equal(json.length, 1, 'the operator key')
  })
})

describe('the audit log', () => {
  test('is paged, newest first', async () => {
    const all = await entries()
    const ids = all.map(({ id }) => id)
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => b - a),
    )
    const pages = []
    for (let page: string | undefined = '/v1/audit?limit=7'; page; ) {
      const response = await send('GET', page)
      assert.equal(response.headers['x-stability'], 'beta')
      assert.ok(response.json.length <= 7)
      pages.push(...response.json)
      page = nextPage(response)
    }
    assert.deepEqual(pages, all)
    assertError(await send('GET', '/v1/audit?cursor=x', undefined, 400), 400, 'invalid_cursor')
    assertError(await send('GET', '/v1/audit?limit=101', undefined, 400), 400, 'validation_failed')
  })

  test('requires keys:manage', async () => {
    const { key } = await service.makeKey()
    assertError(await service.request('GET', '/v1/audit', { key }), 403, 'insufficient_scope')
    assertError(await service.request('GET', '/v1/audit'), 401, 'missing_api_key')
  })

  test('contains no secret that a client put into its request id', async () => {
    const { key } = await service.makeKey()
    const headers = { 'x-request-id': `a.${key}` }
    const body = { name: 'Leak' }
    await service.request('POST', '/v1/keys', { key: service.operatorKey, headers, body })
    const [entry] = await entries()
    assert.equal(entry?.requestId, 'a.ps_live_[redacted]')
    assert.ok(!(await databaseText(service.databaseEnv)).includes(key))
  })

  test('is append-only', async () => {
    const database = await service.openDatabase()
    await assert.rejects(
      database.write((trx) => sql`UPDATE audit_entries SET subject = 'key 2'`.execute(trx)),
      (error: Error) => /append-only/.test(`${error.message} ${(error.cause as Error | undefined)?.message}`),
    )
  })

  test('keeps entries for 400 days', async (t) => {
    const short = await startTestService({}, { bounds: { sweepMs: 20 } })
    t.after(() => short.stop())
    const read = async () => (await short.request('GET', '/v1/audit', { key: short.operatorKey })).json
    const start = short.now()
    short.advance(400 * dayMs - 1)
    await short.makeKey()
    const database = await short.openDatabase()
    const old = { actor_command: 'serve', action: 'key.created', subject: 'key 99' }
    await database.write(async (trx) => {
      for (let index = 0; index < 3; index++)
        await trx
          .insertInto('audit_entries')
          .values({ ...old, at: start - dayMs })
          .execute()
    })
    await eventually('the old entries are deleted', async () => (await read()).length === 2)
    short.advance(1)
    await eventually('the first entry is deleted', async () => (await read()).length === 1)
    assert.equal((await read())[0].subject, 'key 2')
  })
})
