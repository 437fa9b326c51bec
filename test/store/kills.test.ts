import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKillLoop } from '../support/killLoop.ts'
import { serverFor } from '../support/servers.ts'

// kills.slow.test.ts does the same for longer.
test('a kill at any time loses no confirmed change and duplicates nothing', (t) =>
  runKillLoop(t, { seconds: 3, killEveryMs: 1_000 }))

test('after a crash directly after the first start, the service starts again', async (t) => {
  const first = await serverFor(t)
  first.child.kill('SIGKILL')
  await first.ended
  const second = await serverFor(t, first.databaseEnv)
  assert.equal((await second.request('GET', '/v1/keys', { key: first.operatorKey })).status, 200)
})
