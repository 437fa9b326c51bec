import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestService, type TestService } from './support/service.ts'

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service.stop())

test('an animal that was added is listed', async () => {
  const added = await service.request('POST', '/v1/pets', {
    key: service.operatorKey,
    body: { name: 'Milo', categoryId: 3 },
  })
  assert.equal(added.status, 201)
  const { key } = await service.makeKey()
  const listed = await service.request('GET', '/v1/pets', { key })
  assert.deepEqual(listed.json, [{ id: 1, name: 'Milo', categoryId: 3, status: 'available' }])
})
