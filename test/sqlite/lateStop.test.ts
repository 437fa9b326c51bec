import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { stopWithin } from '../../src/commands/serve.ts'
import { readConfig } from '../../src/config.ts'
import { startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { newDatabase, removeDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { openRawConnection } from '../support/rawConnection.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'

test('a stop that takes too long names what it waits for', async (t) => {
  const { exitCode } = process
  const cleanup = reverseCleanup(t)
  const env = await newDatabase()
  cleanup.after(() => removeDatabase(env))
  const lines: string[] = []
  const { log } = createLog({
    level: 'info',
    redact: (text) => text,
    stream: { write: (line: string) => void lines.push(line) },
  })
  const service = await startService({ config: readConfig({ ...env, PORT: '0' }), clock: systemClock, log })
  const head = `POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${service.newOperatorKey}\r\nContent-Length: 100\r\n\r\n`
  const { socket } = await openRawConnection(`http://127.0.0.1:${service.port}`, head, '{')
  await stopWithin(200, service, log)
  process.exitCode = exitCode
  const line = lines.find((one) => one.includes('stopping failed')) ?? ''
  assert.match(
    line,
    /StopTimeoutError.*The service did not stop within 200 ms: it still waits for requests in progress\./,
  )
  assert.doesNotMatch(line, /disk/i)
  socket.destroy()
  await eventually('the service has stopped', () => service.stopProgress.step === 'the database to close')
})
