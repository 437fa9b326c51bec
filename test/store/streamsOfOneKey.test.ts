import assert from 'node:assert/strict'
import { Agent, type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { startTestService } from '../support/service.ts'

const perKeyMax = 100

test('one key cannot take the streams of all others', async (t) => {
  const service = await startTestService()
  const agent = new Agent({ maxSockets: perKeyMax * 2 })
  t.after(async () => {
    agent.destroy()
    await service.stop()
  })
  const open = (key: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' }
      request(`${service.base}/v1/events`, { agent, headers }, resolve).on('error', reject).end()
    })
  const scopes = ['events:read']
  const [greedy, other] = [await service.makeKey({ scopes, plan: 'pro' }), await service.makeKey({ scopes })]
  const opened = await Promise.all(Array.from({ length: perKeyMax }, () => open(greedy.key)))
  assert.deepEqual(new Set(opened.map(({ statusCode }) => statusCode)), new Set([200]))
  assert.equal((await open(greedy.key)).statusCode, 503)
  assert.equal((await open(other.key)).statusCode, 200)
})
