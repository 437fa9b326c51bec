import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bunPath } from '../support/bunService.ts'
import { openRawConnection } from '../support/rawConnection.ts'
import { useService } from '../support/useService.ts'

const service = useService()

const pet = (name: string) => JSON.stringify({ name, categoryId: 1 })
const inChunks = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
const head = (version: string, fields: readonly string[]) =>
  [
    `POST /v1/pets HTTP/${version}`,
    'Host: petstore',
    `Authorization: Bearer ${service.operatorKey}`,
    ...fields,
    '\r\n',
  ].join('\r\n')

/** A complete request that a program with another idea of the length before it would take for a part of the body. */
const second = (name: string) => head('1.1', [`Content-Length: ${pet(name).length}`]) + pet(name)

async function names(): Promise<string[]> {
  const { json } = await service.request('GET', '/v1/pets?limit=100', { key: service.operatorKey })
  return json.map(({ name }: { name: string }) => name)
}

// A proxy that reads such a message in another way would see another number of requests on the connection.
describe('a request whose length could be understood in two ways gets 400, and nothing after it is read', () => {
  const rejected: [what: string, version: string, fields: string[]][] = [
    ['identity, chunked', '1.1', ['Transfer-Encoding: identity, chunked']],
    ['identity', '1.1', ['Transfer-Encoding: identity']],
    ['gzip, chunked', '1.1', ['Transfer-Encoding: gzip, chunked']],
    ['chunked, identity', '1.1', ['Transfer-Encoding: chunked, identity']],
    ['chunked, chunked', '1.1', ['Transfer-Encoding: chunked, chunked']],
    ['chunked twice', '1.1', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    ['identity and chunked', '1.1', ['Transfer-Encoding: identity', 'Transfer-Encoding: chunked']],
    ['chunked with a parameter', '1.1', ['Transfer-Encoding: chunked;q=1']],
    ['chunked in quotes', '1.1', ['Transfer-Encoding: "chunked"']],
    ['chunked with an empty element', '1.1', ['Transfer-Encoding: , chunked']],
    ['a longer word', '1.1', ['Transfer-Encoding: xchunked']],
    ['a vertical tab', '1.1', ['Transfer-Encoding: \vchunked']],
    ['a space before the colon', '1.1', ['Transfer-Encoding : chunked']],
    ['a folded line', '1.1', ['Transfer-Encoding: identity,', ' chunked']],
    ['no value', '1.1', ['Transfer-Encoding:']],
    ['chunked and a length', '1.1', ['Transfer-Encoding: chunked', 'Content-Length: 4']],
    ['a length and chunked', '1.1', ['Content-Length: 4', 'Transfer-Encoding: chunked']],
    ['identity and a length', '1.1', ['Transfer-Encoding: identity', 'Content-Length: 4']],
    ['chunked on HTTP/1.0', '1.0', ['Transfer-Encoding: chunked']],
    ['chunked on HTTP/1.0 with keep-alive', '1.0', ['Transfer-Encoding: chunked', 'Connection: keep-alive']],
    ['chunked and an Expect', '1.1', ['Transfer-Encoding: identity, chunked', 'Expect: 100-continue']],
  ]
  async function assertRejected([what, version, fields]: (typeof rejected)[number], isFirst: boolean) {
    const before = isFirst ? '' : second(`before ${what}`)
    const attack = head(version, fields) + inChunks(pet(`first ${what}`)) + second(`second ${what}`)
    const caller = await openRawConnection(service.base, before + attack)
    if (!isFirst) assert.equal((await caller.response()).status, 201, what)
    const response = await caller.response()
    assert.equal(response.status, 400, what)
    assert.match(response.head, /^connection: close$/im)
    // Bun rejects most of them itself, without a body.
    if (bunPath === undefined) assert.equal(JSON.parse(response.body).code, 'validation_failed')
    await caller.closed
    const found = (await names()).filter((name) => name.endsWith(what) && !name.startsWith('before'))
    assert.deepEqual(found, [])
  }
  for (const request of rejected) test(request[0], () => assertRejected(request, true))
  test('each of them after another request on the same connection', async () => {
    for (const request of rejected) await assertRejected(request, false)
  })
})

describe('a chunked request on HTTP/1.1 is read, and so is the next one', () => {
  for (const [at, value] of ['chunked', 'Chunked', '  \tchunked'].entries())
    test(JSON.stringify(value), async () => {
      const first = head('1.1', [`Transfer-Encoding: ${value}`]) + inChunks(pet(`chunked ${at}`))
      const caller = await openRawConnection(service.base, first)
      assert.equal((await caller.response()).status, 201)
      caller.socket.write(second(`after ${at}`))
      assert.equal((await caller.response()).status, 201)
      const found = await names()
      assert.ok(found.includes(`chunked ${at}`) && found.includes(`after ${at}`))
      caller.socket.destroy()
      await caller.closed
    })
})
