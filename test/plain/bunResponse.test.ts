import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toResponse } from '../../src/server/bun.ts'

const response = (...headers: string[]) =>
  toResponse({ status: 200, headers: ['ETag', '"a"', ...headers], body: '{}' })
const fields = ({ headers }: Response) => Object.fromEntries(headers)

test('responses with the same names of headers keep their own values', () => {
  const first = response('X-Request-Id', 'one', 'X-RateLimit-Remaining', '5')
  const second = response('X-Request-Id', 'two', 'X-RateLimit-Remaining', '5')
  const type = 'text/plain;charset=UTF-8'
  const common = { 'content-type': type, etag: '"a"', 'x-ratelimit-remaining': '5' }
  assert.deepEqual(fields(first), { ...common, 'x-request-id': 'one' })
  assert.deepEqual(fields(second), { ...common, 'x-request-id': 'two' })
})

test('a response has no header of one with as many other names', () => {
  response('X-Request-Id', 'one', 'Access-Control-Allow-Origin', 'https://shop.example')
  const names = fields(response('X-Request-Id', 'two', 'X-Stability', 'beta'))
  assert.equal(names['access-control-allow-origin'], undefined)
  assert.equal(names['x-request-id'], 'two')
})

test('a value that is not valid leaves nothing behind', () => {
  response('X-Request-Id', 'one', 'X-Stability', 'beta')
  assert.throws(() => response('X-Request-Id', 'two', 'X-Stability', 'be\nta'))
  assert.equal(fields(response('X-Request-Id', 'one', 'X-Stability', 'beta'))['x-request-id'], 'one')
})
