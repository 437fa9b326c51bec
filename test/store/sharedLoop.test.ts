import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../support/client.ts'
import { startTestService } from '../support/service.ts'

test('reads do not wait until all writes are done', async (t) => {
  const service = await startTestService()
  t.after(() => service.stop())
  const { key } = await service.makeKey({ plan: 'enterprise', scopes: ['pets:read', 'pets:write'] })
  const add = (n: number) =>
    service.request('POST', '/v1/pets', { key, body: { name: `one of many ${n}`, categoryId: 1 } })
  await add(0)
  // An open connection of its own: a request of the same client waits there until one of 256 connections is free, and a new
  // connection waits until the others are accepted.
  const reader = createClient(service.base)
  t.after(() => reader.closeConnections())
  const read = async () =>
    assert.equal((await reader.request('GET', '/v1/pets', { key: service.operatorKey })).status, 200)
  await read()
  let isDone = false
  const adding = Promise.all(Array.from({ length: 800 }, (_, n) => add(n))).then((responses) => {
    isDone = true
    return responses
  })
  let completedReads = 0
  while (!isDone) {
    await read()
    if (!isDone) completedReads++
  }
  for (const { status } of await adding) assert.equal(status, 201)
  assert.ok(completedReads >= 3, `only ${completedReads} reads were completed`)
})
