import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { startTestService, type TestService, type TestServiceOptions } from './service.ts'
import {
  loopbackAllowed,
  registerWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from './webhookReceiver.ts'

export type Delivery = {
  id: number
  eventId: number
  status: string
  attempts: number
  nextAttemptAt?: string
  lastStatus?: number
  lastError?: string
  finishedAt?: string
}

/** A service with endpoints, all stopped after the test. */
export async function stageWebhooks(
  t: TestContext,
  env: Record<string, string> = {},
  options: TestServiceOptions = {},
) {
  // The endpoints are stopped first: an attempt that hangs would delay the stop of the service.
  const endpoints: WebhookReceiver[] = []
  const service = await startTestService({ ...loopbackAllowed, ...env }, options)
  t.after(async () => {
    for (const endpoint of endpoints) await endpoint.stop()
    await service.stop()
  })
  async function endpoint(): Promise<WebhookReceiver> {
    const started = await startWebhookReceiver()
    endpoints.push(started)
    return started
  }
  return { service, endpoint, ...actionsOf(service, await endpoint()) }
}

function actionsOf(service: TestService, marker: WebhookReceiver) {
  const key = service.operatorKey
  const send = async (method: string, path: string, body?: unknown) => {
    const { status, json, text } = await service.request(method, path, { key, body })
    assert.ok(status < 300, text)
    return json
  }
  let markerId: number | undefined
  let marks = 0
  return {
    send,
    addPet: (name = 'Milo') => send('POST', '/v1/pets', { name, categoryId: 3 }),
    webhook: (id: number) => send('GET', `/v1/webhooks/${id}`),
    deliveries: (id: number): Promise<Delivery[]> => send('GET', `/v1/webhooks/${id}/deliveries?limit=100`),
    /** Runs the deliverer twice: the attempts that the first round started have arrived by the second. */
    async runDeliverer(): Promise<void> {
      markerId ??= (await registerWebhook(service, marker.url, ['category.deleted'])).id
      for (let n = 0; n < 2; n++) {
        await send('POST', `/v1/webhooks/${markerId}/test`)
        await marker.until(++marks)
      }
    },
  }
}
