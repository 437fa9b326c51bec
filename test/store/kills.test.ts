import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serverFor } from '../support/servers.ts'

// kills.slow.test.ts kills instances again and again under load, mirror.test.ts once.
test('after a crash directly after the first start, the service starts again', async (t) => {
  const first = await serverFor(t)
  first.child.kill('SIGKILL')
  await first.ended
  const second = await serverFor(t, first.databaseEnv)
  assert.equal((await second.request('GET', '/v1/keys', { key: first.operatorKey })).status, 200)
})
