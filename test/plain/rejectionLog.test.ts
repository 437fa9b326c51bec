import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RequestLog } from '../../src/api/authentication.ts'
import { createLog } from '../../src/telemetry/log.ts'

function startLog() {
  const texts: string[] = []
  const stream = { write: (text: string) => void texts.push(text) }
  const { log } = createLog({ level: 'info', redact: (text) => text, stream })
  const request = (fields: Partial<RequestLog>) =>
    log.request({ requestId: 'x', path: '/v1/pets', method: 'GET', seconds: 0, ...fields } as RequestLog)
  /** The lines since the last call. */
  const lines = () => texts.splice(0).map((text) => JSON.parse(text))
  return { log, request, lines }
}

const unknown = { status: 401, code: 'invalid_api_key', address: '192.0.2.1' }
const limited = { status: 429, code: 'rate_limit_exceeded', address: '192.0.2.1' }
const full = { status: 503, code: 'unavailable', address: '192.0.2.1' }
const principal = (keyId: number) => ({ keyId }) as RequestLog['principal']

describe('rejections of one caller', () => {
  test('have one line, and one with the number of the others for each ten seconds', ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    const { request, lines } = startLog()
    for (let n = 0; n < 1_000; n++) request(unknown)
    const [first, ...more] = lines()
    assert.deepEqual([first.msg, first.status, first.path, more], ['request', 401, '/v1/pets', []])
    mock.timers.tick(10_000)
    const [summary, ...others] = lines()
    const { time: _, ...rest } = summary
    assert.deepEqual([rest, others], [{ level: 40, ...unknown, count: 999, msg: 'requests rejected' }, []])
    for (let n = 0; n < 5; n++) request(unknown)
    mock.timers.tick(10_000)
    assert.deepEqual(
      lines().map(({ msg, count }) => [msg, count]),
      [['requests rejected', 5]],
    )
    mock.timers.tick(10_000)
    request(unknown)
    assert.equal(lines().length, 1, 'the first one after a while is logged at once')
  })

  test('are counted for its key, or for its address (IPv6: /64), and by their code', () => {
    const { log, request, lines } = startLog()
    for (const [fields, isFirst] of [
      [unknown, true],
      [{ ...unknown, code: 'missing_api_key' }, true],
      [limited, true],
      [{ ...limited, principal: principal(7) }, true],
      [{ ...limited, principal: principal(8) }, true],
      [{ ...limited, principal: principal(7), address: '192.0.2.2' }, false],
      [{ ...unknown, address: '192.0.2.2' }, true],
      [{ ...unknown, address: '2001:db8::1' }, true],
      [{ ...unknown, address: '2001:db8::2' }, false],
      [{ ...unknown, address: '2001:db8:0:1::2' }, true],
    ] as const) {
      request(fields)
      assert.equal(lines().length, isFirst ? 1 : 0, JSON.stringify(fields))
    }
    log.flushRejections()
    assert.deepEqual(
      lines().map(({ keyId, address, count }) => [keyId, address, count]),
      [
        [7, '192.0.2.2', 1],
        [undefined, '2001:db8::2', 1],
      ],
    )
    log.flushRejections()
    assert.deepEqual(lines(), [])
  })

  test('have one stack, such as changes on a full disk', () => {
    const { log, request, lines } = startLog()
    const error = new Error('database or disk is full')
    for (let n = 0; n < 100; n++) request({ ...full, principal: principal(7), error })
    log.flushRejections()
    const [first, summary, ...more] = lines()
    assert.match(first.err.stack, /disk is full/)
    assert.deepEqual([summary.count, summary.err, more], [99, undefined, []])
  })

  test('before authentication are counted, such as invalid HTTP', () => {
    const { request, lines } = startLog()
    for (let n = 0; n < 100; n++) request({ status: 400, code: 'validation_failed', address: '192.0.2.1' })
    assert.equal(lines().length, 1)
  })

  test('of very many addresses are counted together, in bounded memory', () => {
    const { log, request, lines } = startLog()
    for (let n = 0; n < 20_000; n++) request({ ...unknown, address: `10.0.${n >> 8}.${n & 255}` })
    assert.equal(lines().length, 1_001)
    log.flushRejections()
    assert.deepEqual(
      lines().map(({ address, count }) => [address, count]),
      [[undefined, 20_000 - 1_001]],
    )
  })
})

test('all other requests have a line each', () => {
  const { request, lines } = startLog()
  for (const status of [200, 201, 304, 400, 403, 404, 409, 412, 500])
    for (let n = 0; n < 20; n++) {
      request({ status, code: 'x', address: '192.0.2.1', principal: principal(7) })
      request({ status, code: 'x', address: '192.0.2.1', page: { path: '/photos' } as RequestLog['page'] })
    }
  assert.equal(lines().length, 9 * 20 * 2)
})
