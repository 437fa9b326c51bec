import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createClient } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { serverFor } from '../support/servers.ts'
import {
  isSignedWith,
  loopbackAllowed,
  registerWebhook,
  startWebhookReceiver,
} from '../support/webhookReceiver.ts'

const example = fileURLToPath(new URL('../../examples/webhook-receiver.js', import.meta.url))

/** The example, run as its reader would; it ends with the test. */
async function startExample(t: TestContext, secret: string) {
  const child = spawn(process.execPath, [example], {
    env: { ...process.env, NODE_TEST_CONTEXT: '', WEBHOOK_SECRET: secret, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const port = await eventually('the example listens', () => /listening on (\d+)/.exec(output)?.[1])
  const printed = () => output.split('\n').slice(1, -1)
  return { url: `http://127.0.0.1:${port}`, printed }
}

test('the example receiver prints a valid message once and rejects a forged one with 401', async (t) => {
  const server = await serverFor(t, loopbackAllowed)
  const service = { request: server.request, operatorKey: server.operatorKey as string }
  const key = service.operatorKey
  const send = async (method: string, path: string, body?: unknown) =>
    (await server.request(method, path, { key, body })).json

  // A test receiver listens on the port first, to get a valid message that can be modified.
  const own = await startWebhookReceiver()
  t.after(() => own.stop())
  const { id, secret } = await registerWebhook(service, own.url, ['pet.created'])
  await send('POST', '/v1/pets', { name: 'Otto', categoryId: 3 })
  const real = await own.until(1)
  assert.ok(isSignedWith(secret, real))

  const receiver = await startExample(t, secret)
  await send('PATCH', `/v1/webhooks/${id}`, { url: `${receiver.url}/hooks` })
  const pet = await send('POST', '/v1/pets', { name: 'Milo', categoryId: 3 })
  const lines = await eventually(
    'the message is printed',
    () => receiver.printed().length > 0 && receiver.printed(),
  )
  assert.deepEqual(lines, [`pet.created ${JSON.stringify(pet)}`])
  const [delivery] = await eventually('it is delivered', async () => {
    const found = await send('GET', `/v1/webhooks/${id}/deliveries`)
    return found[0].status === 'delivered' && found
  })
  assert.equal(delivery.lastStatus, 204)

  const client = createClient(receiver.url)
  t.after(() => client.closeConnections())
  const signed = {
    'webhook-id': real.id,
    'webhook-timestamp': String(real.headers['webhook-timestamp']),
    'webhook-signature': String(real.headers['webhook-signature']),
  }
  const post = async (body: string, headers: Record<string, string>) =>
    (await client.request('POST', '/hooks', { body, headers })).status
  const forged: [string, string, Record<string, string>][] = [
    ['without a signature', real.body, {}],
    ['with another body', real.body.replace('Otto', 'Mallory'), signed],
    ['with another id', real.body, { ...signed, 'webhook-id': 'msg_999' }],
    [
      'with a later time',
      real.body,
      { ...signed, 'webhook-timestamp': String(Number(signed['webhook-timestamp']) + 1) },
    ],
    ['with an old time', real.body, { ...signed, 'webhook-timestamp': '1700000000' }],
    ['with nonsense for a signature', real.body, { ...signed, 'webhook-signature': 'v1,AAAA' }],
    ['empty', '', {}],
  ]
  for (const [name, body, headers] of forged) assert.equal(await post(body, headers), 401, name)
  assert.equal(await post('x'.repeat(300_000), signed), 413)
  assert.equal((await client.request('GET', '/hooks')).status, 405)
  assert.equal(await post(real.body, signed), 204)
  assert.equal(await post(real.body, signed), 204)
  // A message of another kind marks the end: what is printed is printed in order.
  await send('POST', `/v1/webhooks/${id}/test`)
  await eventually('the test is printed', () => receiver.printed().at(-1)?.startsWith('webhook.test '))
  assert.deepEqual(
    receiver.printed().map((line) => line.split(' ')[0]),
    ['pet.created', 'pet.created', 'webhook.test'],
    'a message that comes twice is dealt with once, and a forged one never',
  )
})
