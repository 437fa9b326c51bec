import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { NodeRequest } from '../../src/server/nodeAdapter.ts'

function requestWith(headers: Readonly<Record<string, string>>, url = '/v1/pets'): NodeRequest {
  const message = new IncomingMessage(new Socket())
  message.method = 'POST'
  message.url = url
  message.rawHeaders = Object.entries(headers).flat()
  message.headers = headers
  return new NodeRequest(message, new ServerResponse(message))
}

const usual = { host: 'petstore', authorization: 'Bearer x', 'content-type': 'application/json' }

for (const [what, headers, weight] of [
  ['a small request', usual, 1],
  ['a small body', { ...usual, 'content-length': '200' }, 1],
  ['many headers', Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`x${n}`, 'y'])), 3],
  ['a long header', { ...usual, cookie: 'x'.repeat(15_000) }, 4],
  ['a body of 60,000 bytes', { ...usual, 'content-length': '60000' }, 15],
  ['a body of which Node buffers only a part', { ...usual, 'content-length': '10000000' }, 17],
  ['a body of unknown length', { ...usual, 'transfer-encoding': 'chunked' }, 1],
] as const)
  test(`${what} has the weight ${weight}`, () => assert.equal(requestWith(headers).weight, weight))

test('a long target counts, also if it is not valid', () => {
  for (const url of [`/v1/pets?${'x'.repeat(15_000)}`, `ftp://${'x'.repeat(15_000)}`])
    assert.equal(requestWith(usual, url).weight, 4)
})
