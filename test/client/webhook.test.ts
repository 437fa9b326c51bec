import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { verifyWebhook, WebhookVerificationError } from '../../client/src/index.ts'
import { clientOf } from '../support/petstoreClient.ts'
import { useService } from '../support/useService.ts'
import { loopbackAllowed, startWebhookReceiver } from '../support/webhookReceiver.ts'

const service = useService(loopbackAllowed, { startAt: 'now' })
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const payload =
  '{"type":"pet.created","timestamp":"2026-11-15T12:00:00.000Z","data":{"categoryId":9007199254740993}}'

function signed(body = payload, { at = new Date(), by = secret, id = 'msg_1' } = {}) {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(by).sign(id, at, body),
  }
}

describe('verifyWebhook', () => {
  test('accepts the messages of the service, also while the secret is rotated', async (t) => {
    const receiver = await startWebhookReceiver()
    t.after(() => receiver.stop())
    const store = clientOf(service)
    const webhook = await store.webhooks.create({ url: receiver.url, events: ['pet.created'] })
    const categoryId = 2n ** 63n - 1n
    const pet = await store.pets.create({ name: 'Möhre', categoryId })
    const first = await receiver.until(1)
    const message = await verifyWebhook(first.body, first.headers, webhook.secret)
    assert.ok(message.type === 'pet.created')
    assert.deepEqual(message.data, pet)

    const { secret: newSecret } = await store.webhooks.rotateSecret(webhook.id)
    await store.webhooks.test(webhook.id)
    const second = await receiver.until(2)
    for (const valid of [webhook.secret, newSecret])
      assert.equal((await verifyWebhook(second.body, second.headers, valid)).type, 'webhook.test')
    await assert.rejects(verifyWebhook(first.body, first.headers, newSecret), WebhookVerificationError)
  })

  test('takes bytes, Headers, any case of header names and a secret without its prefix', async () => {
    const headers = signed()
    const bytes = new TextEncoder().encode(payload)
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    )
    for (const message of [
      await verifyWebhook(bytes, headers, secret),
      await verifyWebhook(payload, new Headers(headers), secret),
      await verifyWebhook(payload, upper, secret.slice('whsec_'.length)),
    ])
      assert.deepEqual(message.data, { categoryId: 2n ** 53n + 1n })
  })

  test('rejects messages that are changed, too old, too new, or not signed with the secret', async () => {
    const headers = signed()
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    const now = Date.now()
    const cases: [string, Record<string, string>][] = [
      [payload.replace('3', '4'), headers],
      [payload, { ...headers, 'webhook-id': 'msg_2' }],
      [payload, { ...headers, 'webhook-timestamp': String(Math.floor(now / 1000) - 1) }],
      [payload, { ...headers, 'webhook-timestamp': 'now' }],
      [payload, { ...headers, 'webhook-signature': '' }],
      [payload, { ...headers, 'webhook-signature': 'v1,' }],
      [payload, { ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') }],
      [payload, { ...headers, 'webhook-signature': 'v1,not base64!' }],
      [payload, signed(payload, { by: other })],
      [payload, signed(payload, { at: new Date(now - 301_000) })],
      [payload, signed(payload, { at: new Date(now + 302_000) })],
      [payload, {}],
    ]
    for (const [body, received] of cases)
      await assert.rejects(
        verifyWebhook(body, received, secret),
        (error: unknown) => error instanceof WebhookVerificationError && error.code === 'invalid_signature',
        JSON.stringify(received),
      )
    const old = signed(payload, { at: new Date(now - 301_000) })
    await verifyWebhook(payload, old, secret, { toleranceSeconds: 400 })
    await verifyWebhook(payload, old, secret, { now: now - 300_000 })
  })

  test('finds the valid one of several signatures', async () => {
    const headers = signed()
    const several = `v1a,abc v1,${Buffer.alloc(32).toString('base64')} ${headers['webhook-signature']}`
    await verifyWebhook(payload, { ...headers, 'webhook-signature': several }, secret)
  })

  test('an unusable secret is a TypeError', async () => {
    for (const unusable of ['', 'whsec_', 'whsec_?'])
      await assert.rejects(verifyWebhook(payload, signed(), unusable), TypeError)
  })

  test('a missing secret is named, also if the message is not signed', async () => {
    for (const secret of [undefined, '', 'whsec_'] as string[])
      await assert.rejects(verifyWebhook('{}', {}, secret), { name: 'TypeError', message: /^The secret/ })
  })
})
