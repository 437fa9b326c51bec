import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openRawConnection } from '../support/rawConnection.ts'
import { useService } from '../support/useService.ts'

const service = useService()
let key: string
before(async () => {
  key = service.operatorKey
  for (const name of ['Milo', 'Zoë']) {
    await service.request('POST', '/v1/pets', { key, body: { name, categoryId: 1 } })
  }
})

/** Headers that differ between requests or describe the connection. */
const passing = /^(?:date|x-request-id|connection|keep-alive|ratelimit|x-ratelimit-(?:remaining|reset)): .*$/i

async function headAndBody(method: string, path: string, more: string, body = '') {
  const caller = await openRawConnection(
    service.base,
    `${method} ${path} HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${key}\r\n${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  const response = await caller.response()
  caller.socket.destroy()
  const [start, ...lines] = response.head.split('\r\n')
  return { start, lines, body: response.body }
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

describe('the head of a response is the same on a connection that stays open and on one that is closed', () => {
  for (const [method, path, body, more = ''] of scenarios) {
    test([method, path, ...(more === '' ? [] : [more.trim()])].join(' '), async () => {
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
})

test('callers that share a cached response get each their own headers', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `caller-${index}`)
  await service.request('GET', '/v1/pets', { key })
  const send = (id: string) => service.request('GET', '/v1/pets', { key, headers: { 'x-request-id': id } })
  const responses = await Promise.all(ids.map(send))
  assert.deepEqual(
    responses.map(({ headers }) => headers['x-request-id']),
    ids,
  )
  const left = responses.map(({ headers }) => headers['x-ratelimit-remaining'])
  assert.equal(new Set(left).size, ids.length, left.join(' '))
})
