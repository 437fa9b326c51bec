import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRawConnection } from '../support/rawConnection.ts'
import { useService } from '../support/useService.ts'

const service = useService({}, { additional: new URL('../support/additionalOperations.ts', import.meta.url) })

/** The server disconnects other clients after 10 seconds, and checks every second. */
const longerMs = 12_000
const bodyBytes = 900_000

test('a raw body may take longer than other requests, if it has the time', async () => {
  const caller = await openRawConnection(
    service.base,
    `POST /v1/test/pets/1/pictures HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${service.operatorKey}\r\nContent-Type: image/webp\r\nContent-Length: ${bodyBytes}\r\n\r\n`,
  )
  caller.socket.write('x'.repeat(bodyBytes - 1))
  setTimeout(() => caller.socket.write('x'), longerMs)
  assert.equal((await caller.response()).status, 201)
  assert.ok(performance.now() - caller.openedAt > longerMs - 1_000)
  // The next request of the connection has the time of every other.
  caller.socket.write('POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nContent-Le')
  const { status, body } = await caller.response()
  assert.deepEqual([status, JSON.parse(body).code], [408, 'validation_failed'])
  await caller.closed
})
