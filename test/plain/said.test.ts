import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiCallerHeaders } from '../../src/api/callerHeaders.ts'

const rates = {
  limit: '60',
  remaining: '59',
  reset: '1794854468',
  policy: '"minute";q=60;w=60, "day";q=1000;w=86400',
  windows: '"minute";r=59;t=60, "day";r=999;t=86400',
}

test('the lines of a head say what the headers say', () => {
  for (const more of [
    undefined,
    {},
    { 'Access-Control-Allow-Origin': 'https://a.example', Vary: 'Origin' },
  ]) {
    const said = new ApiCallerHeaders(rates, 'abc', more)
    assert.ok(said.lines.endsWith('\r\n'))
    const lines = said.lines.slice(0, -2).split('\r\n')
    assert.deepEqual(
      lines,
      Object.entries(said.headers).map(([name, value]) => `${name}: ${value}`),
    )
    assert.equal(lines.length, 6 + Object.keys(more ?? {}).length)
  }
})

test('what could end a line early is refused', () => {
  const said = new ApiCallerHeaders(rates, 'abc', { 'Access-Control-Allow-Origin': 'a\r\nSet-Cookie: b' })
  assert.throws(() => said.lines, TypeError)
})
