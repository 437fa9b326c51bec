import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listen } from '../../src/server/listen.ts'
import { assertHaproxyInstalled, haproxyFor, toPetstore } from '../support/haproxy.ts'
import { metricsPaths } from '../support/metricsPaths.ts'
import { openRawConnection } from '../support/rawConnection.ts'
import { SuiteCleanup } from '../support/servers.ts'

const cleanup = new SuiteCleanup()
let base: string
before(async () => {
  assertHaproxyInstalled()
  // Everything that HAProxy passes on gets 200.
  const handle = () => ({ status: 200, headers: ['Content-Length', '0'] })
  const { port, stop } = await listen({ handle }, { host: '127.0.0.1', port: 0 }, { stalledMs: 60_000 })
  cleanup.after(stop)
  const haproxy = await haproxyFor(cleanup, [port, port, port], toPetstore)
  base = `http://127.0.0.1:${haproxy.port}`
})
after(() => cleanup.end())

async function statusOf(target: string): Promise<number> {
  const caller = await openRawConnection(base, `GET ${target} HTTP/1.1\r\nHost: petstore\r\n\r\n`)
  try {
    return (await caller.response()).status
  } finally {
    caller.socket.destroy()
  }
}

test('HAProxy passes on all but /metrics, under any spelling of the path', async () => {
  for (const target of [
    '/',
    '/v1/pets/1',
    '/guides/keys.md',
    '/v1/pets?x=/../metrics',
    '/.well-known/x',
    '/v1/...',
  ])
    assert.equal(await statusOf(target), 200, target)
  for (const target of metricsPaths) assert.match(String(await statusOf(target)), /^40[04]$/, target)
})
