import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { HeaderBlock } from '../../src/api/response.ts'
import { startTestService } from '../support/service.ts'
import { call } from '../support/socket.ts'
import { useService } from '../support/useService.ts'

/** Plain answers on connections that stay open have their head made by us, all others by Node. */
const service = useService()
let key: string
before(async () => {
  key = service.operatorKey
  for (const name of ['Milo', 'Zoë']) {
    await service.request('POST', '/v1/pets', { key, body: { name, categoryId: 1 } })
  }
})

/** What differs from request to request, or says how the connection goes on. */
const passing = /^(?:date|x-request-id|connection|keep-alive|ratelimit|x-ratelimit-(?:remaining|reset)): .*$/i

async function headAndBody(method: string, path: string, more: string, body = '') {
  const caller = await call(
    service.base,
    `${method} ${path} HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${key}\r\n${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  const answer = await caller.answer()
  caller.socket.destroy()
  const [start, ...lines] = answer.head.split('\r\n')
  return { start, lines, body: answer.body }
}

const scenarios: [method: string, path: string, body?: string, more?: string][] = [
  ['GET', '/v1/pets'],
  ['GET', '/v1/pets?limit=1'],
  ['GET', '/v1/pets/1'],
  ['GET', '/v1/pets/2'],
  ['GET', '/v1/categories'],
  ['GET', '/v1/store/inventory'],
  ['GET', '/v1/limits'],
  ['POST', '/v1/pets', '{"name":"Zo\u00eb","categoryId":1}'],
  ['POST', '/v1/pets', '{"name":"Milo","categoryId":1}', 'Prefer: handling=strict\r\n'],
]

describe('the head of an answer is the same, whoever writes it', () => {
  for (const [method, path, body, more = ''] of scenarios) {
    test(`${method} ${path} ${more.trim()}`, async () => {
      const open = await headAndBody(method, path, more, body)
      const closed = await headAndBody(method, path, `${more}Connection: close\r\n`, body)
      assert.equal(open.start, closed.start)
      const lasting = ({ lines }: { lines: string[] }) =>
        lines
          .filter((line) => !passing.test(line))
          .map((line) => (method === 'POST' ? line.replace(/\d+|"[^"]*"/g, '') : line))
          .sort()
      assert.deepEqual(lasting(open), lasting(closed))
      const names = ({ lines }: { lines: string[] }) => lines.map((line) => line.split(':')[0]?.toLowerCase())
      assert.deepEqual(new Set(names(open).filter((name) => name !== 'keep-alive')), new Set(names(closed)))
      assert.equal(new Set(names(open)).size, open.lines.length, 'a header is there twice')
      if (method === 'GET') assert.equal(open.body, closed.body)
      assert.equal(/^Preference-Applied: handling=strict$/im.test(open.lines.join('\n')), more !== '')
      assert.match(open.lines.join('\n'), /^Connection: keep-alive$/im)
      assert.match(open.lines.join('\n'), /^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/im)
    })
  }

  for (const value of ['a\r\nSet-Cookie: b', 'a\nb', 'a\0b', '\u20ac']) {
    test(`a value that no header may have is refused: ${JSON.stringify(value)}`, () => {
      assert.throws(() => new HeaderBlock({ 'X-Any': value }).text, TypeError)
    })
  }
})

test('callers who are answered together by the long way get each their own', async () => {
  // Nobody has gone that way yet, so that all wait for it to be loaded, and are answered in one go.
  const fresh = await startTestService()
  const ids = Array.from({ length: 20 }, (_, index) => `caller-${index}`)
  try {
    // Kept from now on, for all of them.
    await fresh.request('GET', '/v1/pets', { key: fresh.operatorKey })
    const headers = { accept: 'text/event-stream, application/json' }
    const ask = (id: string) =>
      fresh.request('GET', '/v1/pets', {
        key: fresh.operatorKey,
        headers: { ...headers, 'x-request-id': id },
      })
    const answers = await Promise.all(ids.map(ask))
    assert.deepEqual(
      answers.map((answer) => answer.headers['x-request-id']),
      ids,
    )
    const left = answers.map((answer) => answer.headers['x-ratelimit-remaining'])
    assert.equal(new Set(left).size, ids.length, left.join(' '))
  } finally {
    await fresh.stop()
  }
})
