import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { METHODS } from 'node:http'
import { before, test } from 'node:test'
import { parseJson } from '../../src/api/json.ts'
import type { ClientResponse } from './client.ts'
import { bodyOf, sendRaw, statusOf } from './rawSocket.ts'
import { amplePlan, assertResponseHeaders } from './responses.ts'
import type { TestService } from './service.ts'

const readers = 6

/** The service of the file that calls `testRequestsOf`. */
let service: TestService
let key: string

/** Mulberry32: small, and the same numbers for the same seed. */
class Chance {
  #state: number
  constructor(seed: number) {
    this.#state = seed
  }
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }
  is(probability: number): boolean {
    return this.next() < probability
  }
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }
  text(lengthMax: number, characters: string): string {
    return Array.from(
      { length: this.below(lengthMax + 1) },
      () => characters[this.below(characters.length)],
    ).join('')
  }
  bytes(lengthMax: number): Buffer {
    return Buffer.from(Array.from({ length: this.below(lengthMax + 1) }, () => this.below(256)))
  }
}

type Sent = {
  method: string
  path: string
  headers: Record<string, string>
  body?: string | Uint8Array
  key?: string
}

const range = (from: number, to: number) =>
  String.fromCharCode(...Array.from({ length: to - from + 1 }, (_, i) => from + i))
const visible = range(0x21, 0x7e)
const pathCharacters = visible.replace('#', '')
const headerCharacters = ` \t${visible}${range(0xa0, 0xff)}`

const unusualTexts = [
  '',
  '0',
  '1',
  '2',
  '-1',
  '100',
  '101',
  '1.0',
  '1e0',
  '1.5',
  '+1',
  '01',
  'abc',
  'null',
  'true',
  'NaN',
  '%00',
  '%zz',
  '%F0%9F%90%95',
  '%ED%A0%80',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '-9223372036854775809',
  '9007199254740993',
  '1e400',
  '1e-400',
  `1e${'9'.repeat(50)}`,
  '9'.repeat(500),
  'available',
  'pending',
  'sold',
  'Sold',
  "' OR 1=1 --",
  '"; DROP TABLE pets;',
  '..',
  '.',
  '%2e%2e',
  '%2F',
  '\\',
  '{petId}',
  '__proto__',
  'constructor',
  '<script>',
  '*',
  '"*"',
  'W/"x"',
  ',',
  ';',
]
const otherMethods = METHODS.filter((method) => !['CONNECT', 'POST', 'PATCH', 'DELETE'].includes(method))
const readMethods = [...otherMethods, ...Array<string>(60).fill('GET'), ...Array<string>(10).fill('HEAD')]
const writeMethods = [...Array<string>(5).fill('POST'), ...Array<string>(8).fill('PATCH'), 'DELETE']

/** The newest id that a write may aim at: low enough to hit animals often, high enough to miss some. */
const aimedIdMax = 80

/** Half of the requests use a path of their method, so that they pass the first checks. */
function anyPath(chance: Chance, method: string): string {
  if (chance.is(0.5)) {
    const one = `/v1/pets/${1 + chance.below(aimedIdMax)}`
    return method === 'POST' || (method === 'GET' && chance.is(0.7)) ? '/v1/pets' : one
  }
  const segment = () =>
    (chance.is(0.7) ? chance.of(unusualTexts) : chance.text(12, pathCharacters)).replace(/[ ?#]/g, '')
  const base = chance.of([
    '/v1/pets',
    '/v1/pets',
    '/v1/pets',
    `/v1/pets/${segment()}`,
    `/v1/pets/${segment()}`,
    `/v1/pets/${chance.below(aimedIdMax)}`,
    '/v1/limits',
    '/v1/keys',
    `/v1/keys/${segment()}`,
    `/v1/${segment()}`,
    `/v1/${segment()}/${segment()}`,
    '/v1',
    '/v1/',
  ])
  if (chance.is(0.4)) return base
  if (chance.is(0.1)) return `${base}?${chance.text(300, pathCharacters)}`
  const parameters = Array.from({ length: chance.below(5) + (chance.is(0.02) ? 150 : 0) }, () => {
    const name = chance.of(['limit', 'status', 'categoryId', 'id', 'id', 'cursor', '__proto__', 'x'])
    return `${name}=${chance.of(unusualTexts).replaceAll(' ', '+')}`
  })
  return `${base}?${parameters.join('&')}`
}

function anyHeaders(chance: Chance): Record<string, string> {
  const names = [
    'content-type',
    'content-encoding',
    'if-match',
    'if-none-match',
    'prefer',
    'idempotency-key',
    'x-request-id',
    'x-forwarded-for',
    'origin',
    'accept',
    'accept-encoding',
    'range',
    'expect',
    'upgrade',
    'cookie',
    'x-http-method-override',
  ]
  const values = [
    'application/json',
    'application/json; charset=latin1',
    'text/html',
    'gzip',
    '*',
    '"x"',
    'W/"x"',
    'handling=strict',
    'handling=strict, respond-async',
    'key-1',
    'key-2',
    '"key-3"',
    '::1, 10.0.0.1',
    'http://evil.example',
    'null',
    'bytes=0-1',
  ]
  const headers: Record<string, string> = {}
  for (let i = chance.below(4); i > 0; i--) {
    headers[chance.of(names)] = chance.is(0.8) ? chance.of(values) : chance.text(40, headerCharacters).trim()
  }
  if (chance.is(0.05)) headers[chance.of(['if-match', 'if-none-match'])] = chance.of(['*', '"x"'])
  // An expectation of 100-continue makes the client wait for it.
  if (/100-continue/i.test(headers.expect ?? '')) headers.expect = 'nothing'
  return headers
}

const number = (chance: Chance) =>
  chance.of([
    '1',
    '-0',
    '3.0',
    '3e0',
    '3.5',
    '1e999999999',
    '-9223372036854775808',
    '9223372036854775808',
    '0.1e1',
    `${'1'.repeat(3_000)}`,
    `1e-${'9'.repeat(30)}`,
    '"3"',
    'null',
    '[]',
    'NaN',
  ])
const string = (chance: Chance) =>
  chance.of([
    '"Milo"',
    '""',
    '" "',
    '"\\ud800"',
    '"\\u0000"',
    '"🐕"',
    `"${'a'.repeat(255)}"`,
    `"${'🐕'.repeat(256)}"`,
    '"a\nb"',
    '1',
    'null',
    '{}',
  ])
const statusText = (chance: Chance) =>
  chance.of(['"available"', '"pending"', '"sold"', '"lost"', 'null', '1', '[]', '""'])

function anyBody(chance: Chance): string | Uint8Array | undefined {
  const kind = chance.next()
  if (kind < 0.05) return undefined
  if (kind < 0.12) return chance.bytes(200)
  if (kind < 0.16) return chance.of(['[', '{"a":', '[[1],']).repeat(chance.below(8_000))
  if (kind < 0.18) return `{"name":"Milo","categoryId":1}${' '.repeat(chance.is(0.5) ? 65_536 : 60_000)}`
  const fields = [
    chance.is(0.9) && `"name":${chance.is(0.7) ? '"Milo"' : string(chance)}`,
    chance.is(0.9) && `"categoryId":${chance.is(0.6) ? chance.below(1_000) - 500 : number(chance)}`,
    chance.is(0.5) && `"status":${chance.is(0.8) ? chance.of(['"sold"', '"pending"']) : statusText(chance)}`,
    chance.is(0.2) &&
      `"${chance.of(['id', 'nmae', '__proto__', 'constructor', 'Status', 'name', '🐕'.repeat(200)])}":${chance.of(['1', '{}', '[[]]'])}`,
  ]
  const text = `{${fields.filter(Boolean).join()}}`
  if (chance.is(0.6)) return text
  const bytes = [...Buffer.from(text)]
  for (let i = chance.below(4); i >= 0; i--)
    bytes.splice(chance.below(bytes.length), chance.below(3), ...chance.bytes(2))
  return Buffer.from(bytes)
}

function anyRequest(chance: Chance, methods: readonly string[]): Sent {
  const body = methods === writeMethods || chance.is(0.1) ? anyBody(chance) : undefined
  // Sometimes a request without a key, fewer than the limit of an address per minute.
  const isAnonymous = chance.is(0.01)
  const method = chance.of(methods)
  return {
    method,
    path: anyPath(chance, method),
    headers: anyHeaders(chance),
    ...(body !== undefined && { body }),
    ...(!isAnonymous && { key }),
  }
}

const isApi = (path: string) => /^\/v1(?:\/(?!openapi\.)|[?]|$)/.test(path)

async function sendAndCheck(sent: Sent, seed: number): Promise<ClientResponse> {
  const { method, path, headers, body, key: sentKey } = sent
  try {
    const response = await service.request(method, path, { headers, body, key: sentKey })
    assert.ok(response.status < 500, `status ${response.status}`)
    if (isApi(path)) assertResponseHeaders(response, method)
    assert.doesNotMatch(response.text, /node_modules|\.ts:\d|SQLITE|file:\/\//)
    return response
  } catch (error) {
    const shown = JSON.stringify({
      ...sent,
      body: body === undefined ? undefined : Buffer.from(body).toString('latin1').slice(0, 500),
    })
    throw new Error(`With the seed ${seed}: ${shown}`, { cause: error })
  }
}

/** The expected content of the database, from the accepted writes. */
class Expected {
  readonly pets = new Map<number, string>()
  readonly categories = new Set<string>()

  note({ method, path }: Sent, { status, text, json, headers }: ClientResponse): void {
    if (headers['idempotent-replayed'] === 'true') return
    if (status === 201 || (status === 200 && method === 'PATCH')) {
      this.pets.set(json.id, text)
      this.categories.add(String((parseJson(text) as { categoryId: bigint }).categoryId))
    }
    if (status === 204 && method === 'DELETE') {
      const id = new URL(path, 'http://store').pathname.split('/').at(-1) ?? ''
      assert.ok(this.pets.delete(Number(id)), `${path} removed a pet that was not added`)
    }
  }
}

async function readStored() {
  const { read } = await service.openDatabase()
  const rows = await read.selectFrom('pets').selectAll().orderBy('id').execute()
  const pets = rows.map(
    ({ id, name, category_id, status }) =>
      `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${category_id},"status":"${status}"}`,
  )
  const categories = await read.selectFrom('categories').select('category_id').execute()
  return { pets, categories: categories.map(({ category_id }) => String(category_id)).sort() }
}

const faults = () => service.logLines.filter((line) => JSON.parse(line).level >= 50)

/** Adds the tests of random requests to a file. */
export function testRandomRequests(
  tested: TestService,
  { readsEach, writes }: { readsEach: number; writes: number },
): void {
  service = tested
  before(async () => {
    key = (await service.makeKey(amplePlan)).key
  })

  test('random requests: no 5xx, every error is valid, and the database contains what was accepted', async () => {
    const seed = randomInt(2 ** 31)
    const expected = new Expected()
    const statuses = new Map<number, number>()
    const count = ({ status }: ClientResponse) => statuses.set(status, (statuses.get(status) ?? 0) + 1)

    async function read(lane: number) {
      const chance = new Chance(seed + lane)
      for (let i = 0; i < readsEach; i++) count(await sendAndCheck(anyRequest(chance, readMethods), seed))
    }
    async function write() {
      const chance = new Chance(seed)
      const send = async (sent: Sent) => {
        const response = await sendAndCheck(sent, seed)
        count(response)
        expected.note(sent, response)
      }
      for (let i = 0; i < writes; i++) await send(anyRequest(chance, writeMethods))
      // By chance, all random deletions can aim at animals that do not exist.
      const [id] = expected.pets.keys()
      await send({ method: 'DELETE', path: `/v1/pets/${id}`, headers: {}, key })
    }
    await Promise.all([write(), ...Array.from({ length: readers }, (_, lane) => read(lane + 1))])

    assert.deepEqual(faults(), [], `with the seed ${seed}`)
    const actual = await readStored()
    assert.deepEqual(
      actual.pets,
      [...expected.pets].sort(([a], [b]) => a - b).map(([, text]) => text),
      `with the seed ${seed}`,
    )
    assert.deepEqual(actual.categories, [...expected.categories].sort(), `with the seed ${seed}`)
    // The run is useful only if requests passed each of the checks.
    for (const status of [200, 201, 204, 400, 401, 403, 404, 405, 415]) {
      assert.ok(statuses.has(status), `no response was ${status}, with the seed ${seed}`)
    }
  })
}

const head = (more = '', path = '/v1/pets', method = 'POST') =>
  `${method} ${path} HTTP/1.1\r\nHost: store\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n${more}\r\n`

const oddRequests: [what: string, request: () => string, status: number][] = [
  ['HTTP/1.0 without a Host', () => `GET /v1/pets HTTP/1.0\r\nAuthorization: Bearer ${key}\r\n\r\n`, 200],
  ['a backslash in the path', () => head('', '/v1/\\pets', 'GET'), 404],
  ['an absolute target with another host', () => head('', 'http://elsewhere/v1/pets', 'GET'), 200],
  ['an unknown expectation', () => `${head('Expect: miracles\r\nContent-Length: 2\r\n')}{}`, 400],
  ['TRACE', () => head('', '/v1/pets', 'TRACE'), 405],
]

/** Adds the tests of requests that clients do not send to a file that has the tests of random requests. */
export function testOddRequests(): void {
  test('a client that disconnects during a body causes no error and adds nothing', async () => {
    const before = await readStored()
    const part = '{"name":"Milo"'
    for (const request of [
      head('Content-Length: 100\r\n') + part,
      head('Content-Length: 28\r\nIdempotency-Key: hung-up\r\n') + part,
      `${head('Transfer-Encoding: chunked\r\n')}e\r\n${part}\r\n`,
      `${head('Transfer-Encoding: chunked\r\n')}zz\r\n${part}\r\n`,
    ]) {
      await sendRaw(service.base, request, { hangUp: true })
    }
    assert.deepEqual(await readStored(), before)
    assert.deepEqual(faults(), [])
  })

  for (const [what, request, status] of oddRequests) {
    test(`${what} gets a valid response`, async () => {
      const raw = await sendRaw(service.base, request())
      assert.equal(statusOf(raw), status)
      for (const name of [
        'x-ratelimit-limit',
        'x-ratelimit-remaining',
        'x-ratelimit-reset',
        'x-request-id',
      ]) {
        assert.match(raw.toLowerCase(), new RegExp(`\r\n${name}: [\\w-]+\r\n`))
      }
      if (status >= 400) assert.equal(JSON.parse(bodyOf(raw)).status, status)
    })
  }

  test('an invalid Host header gets an Error body', async () => {
    const raw = await sendRaw(service.base, head('', '/v1/pets', 'GET').replace('Host: store', 'Host: a b'))
    assert.equal(statusOf(raw), 400)
    assert.equal(JSON.parse(bodyOf(raw)).code, 'validation_failed')
  })

  test('bytes that are not HTTP do not stop the service', async () => {
    const seed = randomInt(2 ** 31)
    const chance = new Chance(seed)
    const whole = () => `${head('Content-Length: 27\r\n')}{"name":"Wire","categoryId"}`
    const garbage = Array.from({ length: 300 }, (_, index): string | Uint8Array => {
      switch (index % 8) {
        case 0:
          return chance.bytes(2_000)
        case 1:
          return Buffer.from(
            `GET /${chance.bytes(50).toString('latin1')} HTTP/1.1\r\nHost: x\r\n\r\n`,
            'latin1',
          )
        case 2:
          return whole().slice(0, chance.below(whole().length))
        case 3:
          return `GET /v1/pets HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(chance.below(40_000))}\r\n\r\n`
        case 4:
          return `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(chance.below(3_000))}\r\n`
        case 5:
          return (
            head('Content-Length: 5\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n') +
            chance.text(50, visible)
          )
        case 6:
          return Buffer.from([0x16, 0x03, 0x01, ...chance.bytes(300)])
        default: {
          const bytes = [...Buffer.from(whole())]
          for (let i = 0; i < 5; i++)
            bytes.splice(chance.below(bytes.length), chance.below(3), ...chance.bytes(3))
          return Buffer.from(bytes)
        }
      }
    })
    const responses = await Promise.all(
      garbage.map((bytes) => sendRaw(service.base, bytes, { hangUp: true })),
    )
    for (const raw of responses) assert.ok((statusOf(raw) ?? 0) < 500, `with the seed ${seed}: ${raw}`)
    assert.deepEqual(faults(), [], `with the seed ${seed}`)
    assert.equal((await service.request('GET', '/v1/pets', { key })).status, 200)
  })
}
