import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import type { ClientResponse } from '../support/client.ts'
import { bodyOf, sendRaw, statusOf } from '../support/rawSocket.ts'
import { amplePlan, assertError, assertResponseHeaders } from '../support/responses.ts'
import { startTestService } from '../support/service.ts'

const { service, call, callersKey } = useCheckedCalls()

async function add(pet: Record<string, unknown> = {}): Promise<ClientResponse['json']> {
  const added = await call('POST', '/v1/pets', { body: { name: 'Milo', categoryId: 3, ...pet } })
  assert.equal(added.status, 201, added.text)
  return added.json
}

const read = async (id: number) => (await call('GET', `/v1/pets?id=${id}`)).json[0]
const newestId = async (): Promise<number> => (await call('GET', '/v1/pets?limit=1')).json[0]?.id ?? 0

const int64Max = '9223372036854775807'
const int64Min = '-9223372036854775808'

// createPet

const acceptedBodies: [what: string, body: string, fields: string][] = [
  ['each status: available', '{"name":"A","categoryId":1,"status":"available"}', '"status":"available"'],
  ['each status: pending', '{"name":"A","categoryId":1,"status":"pending"}', '"status":"pending"'],
  ['each status: sold', '{"name":"A","categoryId":1,"status":"sold"}', '"status":"sold"'],
  ['a name of one character', '{"name":"A","categoryId":1}', '"name":"A"'],
  ['a name of 255 characters', `{"name":"${'a'.repeat(255)}","categoryId":1}`, `"name":"${'a'.repeat(255)}"`],
  ['a name of 255 emoji', `{"name":"${'🐕'.repeat(255)}","categoryId":1}`, `"name":"${'🐕'.repeat(255)}"`],
  ['an escaped surrogate pair', '{"name":"\\ud83d\\udc15","categoryId":1}', '"name":"🐕"'],
  ['a name with spaces around it, as it is', '{"name":"  Milo ","categoryId":1}', '"name":"  Milo "'],
  ['the largest int64', `{"name":"A","categoryId":${int64Max}}`, `"categoryId":${int64Max},`],
  ['the smallest int64', `{"name":"A","categoryId":${int64Min}}`, `"categoryId":${int64Min},`],
  ['2^53 + 1', '{"name":"A","categoryId":9007199254740993}', '"categoryId":9007199254740993,'],
  ['zero', '{"name":"A","categoryId":0}', '"categoryId":0,'],
  ['minus zero', '{"name":"A","categoryId":-0}', '"categoryId":0,'],
  ['minus one', '{"name":"A","categoryId":-1}', '"categoryId":-1,'],
  ['3.0', '{"name":"A","categoryId":3.0}', '"categoryId":3,'],
  ['3e0', '{"name":"A","categoryId":3e0}', '"categoryId":3,'],
  ['3E+0', '{"name":"A","categoryId":3E+0}', '"categoryId":3,'],
  ['30e-1', '{"name":"A","categoryId":30e-1}', '"categoryId":3,'],
  ['0.3e1', '{"name":"A","categoryId":0.3e1}', '"categoryId":3,'],
  [
    'the largest int64 with an exponent',
    '{"name":"A","categoryId":922337203685477580.7e1}',
    `"categoryId":${int64Max},`,
  ],
  ['white space around everything', ' {\n"name" : "A" ,\t"categoryId":1 }\r\n ', '"name":"A"'],
  ['a byte order mark', '\ufeff{"name":"A","categoryId":1}', '"name":"A"'],
  [
    'unknown and read-only fields, and ignores them',
    '{"id":1,"name":"A","categoryId":1,"colour":"red","__proto__":{"status":"sold"},"constructor":1}',
    '"status":"available"',
  ],
]
for (const [what, body, fields] of acceptedBodies) {
  test(`createPet accepts ${what}`, async () => {
    const before = await newestId()
    const added = await call('POST', '/v1/pets', { body })
    assert.equal(added.status, 201, added.text)
    assert.ok(added.text.includes(fields), added.text)
    assert.ok(added.json.id > before)
    assert.deepEqual(Object.keys(added.json).sort(), ['categoryId', 'id', 'name', 'status'])
    const listed = await call('GET', `/v1/pets?id=${added.json.id}`)
    assert.equal(listed.text, `[${added.text}]`)
  })
}

const nested = (levels: number) =>
  `{"name":"A","categoryId":1,"x":${'['.repeat(levels - 1)}1${']'.repeat(levels - 1)}}`
const rejectedBodies: [what: string, body: string | Uint8Array, code: string, path?: string][] = [
  ['no body', '', 'malformed_json'],
  ['half a body', '{"name":"A"', 'malformed_json'],
  ['two bodies', '{"name":"A","categoryId":1}{}', 'malformed_json'],
  ['invalid UTF-8', Buffer.from('{"name":"\xff","categoryId":1}', 'latin1'), 'malformed_json'],
  ['UTF-8 that is too long for its character', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 'malformed_json'],
  ['a surrogate in UTF-8', Buffer.from('{"name":"\xed\xa0\x80","categoryId":1}', 'latin1'), 'malformed_json'],
  ['half of a surrogate pair', '{"name":"\\ud83d","categoryId":1}', 'malformed_json'],
  ['half of a surrogate pair in a key', '{"name":"A","categoryId":1,"\\udc15":1}', 'malformed_json'],
  ['an escaped NUL', '{"name":"A\\u0000B","categoryId":1}', 'malformed_json'],
  ['a bare NUL', '{"name":"A\u0000B","categoryId":1}', 'malformed_json'],
  ['a bare line break in a string', '{"name":"A\nB","categoryId":1}', 'malformed_json'],
  ['the same key twice', '{"name":"A","categoryId":1,"name":"B"}', 'malformed_json'],
  ['the same key twice, once escaped', '{"name":"A","categoryId":1,"n\\u0061me":"B"}', 'malformed_json'],
  ['the same key twice further down', '{"name":"A","categoryId":1,"x":{"y":1,"y":1}}', 'malformed_json'],
  ['nesting of 33 levels', nested(33), 'malformed_json'],
  ['nesting of 30,000 levels', '['.repeat(30_000), 'malformed_json'],
  ['NaN', '{"name":"A","categoryId":NaN}', 'malformed_json'],
  ['a number with a plus', '{"name":"A","categoryId":+1}', 'malformed_json'],
  ['a number with a leading zero', '{"name":"A","categoryId":01}', 'malformed_json'],
  ['a trailing comma', '{"name":"A","categoryId":1,}', 'malformed_json'],
  ['single quotes', "{'name':'A','categoryId':1}", 'malformed_json'],
  ['null', 'null', 'validation_failed', ''],
  ['an array', '[{"name":"A","categoryId":1}]', 'validation_failed', ''],
  ['a string', '"Milo"', 'validation_failed', ''],
  ['a body without a name', '{"categoryId":1}', 'validation_failed', '/name'],
  ['a body without a categoryId', '{"name":"A"}', 'validation_failed', '/categoryId'],
  ['an empty name', '{"name":"","categoryId":1}', 'validation_failed', '/name'],
  ['a blank name', '{"name":" \\t\\u00a0\\u2003","categoryId":1}', 'validation_failed', '/name'],
  ['a name of 256 characters', `{"name":"${'a'.repeat(256)}","categoryId":1}`, 'validation_failed', '/name'],
  ['a name of 256 emoji', `{"name":"${'🐕'.repeat(256)}","categoryId":1}`, 'validation_failed', '/name'],
  ['a name that is a number', '{"name":1,"categoryId":1}', 'validation_failed', '/name'],
  ['a name that is null', '{"name":null,"categoryId":1}', 'validation_failed', '/name'],
  ['a status that is null', '{"name":"A","categoryId":1,"status":null}', 'validation_failed', '/status'],
  ['an unknown status', '{"name":"A","categoryId":1,"status":"lost"}', 'validation_failed', '/status'],
  [
    'a status in capitals',
    '{"name":"A","categoryId":1,"status":"Available"}',
    'validation_failed',
    '/status',
  ],
  ['a categoryId of 3.5', '{"name":"A","categoryId":3.5}', 'validation_failed', '/categoryId'],
  ['a categoryId of "3"', '{"name":"A","categoryId":"3"}', 'validation_failed', '/categoryId'],
  ['a categoryId of null', '{"name":"A","categoryId":null}', 'validation_failed', '/categoryId'],
  ['a categoryId of true', '{"name":"A","categoryId":true}', 'validation_failed', '/categoryId'],
  [
    'a categoryId of 2^63',
    '{"name":"A","categoryId":9223372036854775808}',
    'validation_failed',
    '/categoryId',
  ],
  [
    'a categoryId of -2^63 - 1',
    '{"name":"A","categoryId":-9223372036854775809}',
    'validation_failed',
    '/categoryId',
  ],
  [
    'a categoryId that is almost the largest int64',
    '{"name":"A","categoryId":9223372036854775807.1}',
    'validation_failed',
    '/categoryId',
  ],
  ['a categoryId of 1e400', '{"name":"A","categoryId":1e400}', 'validation_failed', '/categoryId'],
  ['a categoryId of 1e-400', '{"name":"A","categoryId":1e-400}', 'validation_failed', '/categoryId'],
]
for (const [what, body, code, path] of rejectedBodies) {
  test(`createPet rejects ${what} and adds nothing`, async () => {
    const before = await newestId()
    const rejected = await call('POST', '/v1/pets', { body })
    assertError(rejected, 400, code)
    const paths = rejected.json.details?.map((detail: { path: string }) => detail.path)
    assert.deepEqual(paths, path === undefined ? undefined : [path])
    assert.equal(await newestId(), before)
  })
}

test('an empty body and a body of white space are rejected with different messages', async () => {
  for (const options of [{}, { body: '' }, { body: '', headers: { 'content-type': 'application/json' } }]) {
    const rejected = await call('POST', '/v1/pets', options)
    assertError(rejected, 400, 'malformed_json')
    assert.equal(rejected.json.message, 'The body is empty: send a JSON object.')
  }
  const blank = await call('POST', '/v1/pets', { body: '  ' })
  assertError(blank, 400, 'malformed_json')
  assert.match(blank.json.message, /the body ends too early/)
})

test('a validation error lists every problem in the body', async () => {
  const rejected = await call('POST', '/v1/pets', { body: { name: '', categoryId: 'x', status: 'lost' } })
  const paths = rejected.json.details.map((detail: { path: string }) => detail.path)
  assert.deepEqual(paths.sort(), ['/categoryId', '/name', '/status'])
})

test('32 levels of nesting are accepted', async () => {
  assert.equal((await call('POST', '/v1/pets', { body: nested(32) })).status, 201)
})

const didYouMean = (name: string) => `is not a field here (did you mean "${name}"?)`
const nearestIs = (name: string) => `is not a field here (the nearest known one is "${name}")`
const petFields = { name: 'A', categoryId: 1 }
const strictBodies: [what: string, body: unknown, path: string, message: string][] = [
  ['an unknown field', { ...petFields, statuss: 'sold' }, '/statuss', didYouMean('status')],
  ['another spelling', { ...petFields, Name: 'B' }, '/Name', didYouMean('name')],
  ['a required field that is misspelt', { nmae: 'A', categoryId: 1 }, '/nmae', nearestIs('name')],
  ['one letter too few in a short field', { nam: 'A', categoryId: 1 }, '/nam', didYouMean('name')],
  ['a field with a slash', { ...petFields, 'category/Id': 1 }, '/category~1Id', didYouMean('categoryId')],
  ['a third of the field wrong', { ...petFields, catgoriId: 1 }, '/catgoriId', didYouMean('categoryId')],
  ['a read-only field', { id: 1, ...petFields }, '/id', nearestIs('name')],
  ['a field of something else', { ...petFields, colour: 'red' }, '/colour', nearestIs('status')],
]
for (const [what, body, path, message] of strictBodies) {
  test(`with Prefer: handling=strict ${what} is rejected, and the error suggests the closest known field`, async () => {
    const headers = { prefer: 'return=representation, handling=strict' }
    const rejected = await call('POST', '/v1/pets', { body, headers })
    assertError(rejected, 400, 'validation_failed')
    const detail = rejected.json.details.find((one: { path: string }) => one.path === path)
    assert.equal(detail.message, message)
    assert.ok(rejected.json.message.includes(`${path} ${message}`))
  })
}

test('with Prefer: handling=strict the error for a field of another operation on the resource names that operation', async () => {
  const { id } = await add()
  const profile = 'PATCH /pets/{petId}/profile takes it'
  for (const [method, path, body, hint] of [
    ['PATCH', `/v1/pets/${id}`, { species: 'dog' }, profile],
    ['POST', '/v1/pets', { name: 'A', categoryId: 3, species: 'dog' }, profile],
    ['PATCH', `/v1/pets/${id}/profile`, { status: 'sold' }, 'PATCH /pets/{petId} takes it'],
    ['POST', '/v1/store/orders', { petId: id, status: 'placed' }, 'PATCH /store/orders/{orderId} takes it'],
    ['PATCH', `/v1/pets/${id}`, { Species: 'dog' }, 'the nearest known one is "status"'],
    // A field of a resource that has nothing to do with this one.
    ['PATCH', `/v1/pets/${id}`, { overlapSeconds: 5 }, 'the nearest known one is "name"'],
  ] as const) {
    const rejected = await call(method, path, { body, headers: { prefer: 'handling=strict' } })
    assertError(rejected, 400, 'validation_failed')
    assert.deepEqual(
      rejected.json.details.map(({ message }: { message: string }) => message),
      [`is not a field here (${hint})`],
    )
  }
})

test('with Prefer: handling=strict a body of known fields is accepted, and other preferences have no effect', async () => {
  const body = { name: 'A', categoryId: 1 }
  const strict = await call('POST', '/v1/pets', { body, headers: { prefer: 'handling=strict' } })
  assert.equal(strict.status, 201)
  assert.equal(strict.headers['preference-applied'], 'handling=strict')
  const lenient = { body: { ...body, colour: 'red' }, headers: { prefer: 'handling=lenient' } }
  assert.equal((await call('POST', '/v1/pets', lenient)).status, 201)
})

test('with Prefer: handling=strict a very long unknown field is truncated to well-formed text', async () => {
  const body = { name: 'A', categoryId: 1, ['🐕'.repeat(5_000)]: 1 }
  const rejected = await call('POST', '/v1/pets', { body, headers: { prefer: 'handling=strict' } })
  assertError(rejected, 400, 'validation_failed')
  assert.ok(rejected.json.message.isWellFormed())
})

// Media types and sizes

const petText = '{"name":"A","categoryId":1}'
const contentTypes: [contentType: string | undefined, status: number][] = [
  [undefined, 201],
  ['application/json', 201],
  ['application/json; charset=utf-8', 201],
  ['Application/JSON;charset="UTF-8"', 201],
  ['application/json; charset=latin1', 415],
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
  ['application/merge-patch+json', 415],
  ['multipart/form-data; boundary=x', 415],
  ['json', 415],
]
for (const [contentType, status] of contentTypes) {
  test(`a body with Content-Type ${contentType ?? '(none)'} gets ${status}`, async () => {
    const headers = contentType === undefined ? {} : { 'content-type': contentType }
    const response = await call('POST', '/v1/pets', { body: petText, headers })
    assert.equal(response.status, status)
    if (status === 415) assertError(response, 415, 'unsupported_media_type')
  })
}

test('a compressed body gets 415', async () => {
  const response = await call('POST', '/v1/pets', { body: petText, headers: { 'content-encoding': 'gzip' } })
  assertError(response, 415, 'unsupported_media_type')
})

const bodyBytesMax = 64 * 1024
const rawHead = (more: string) =>
  `POST /v1/pets HTTP/1.1\r\nHost: store\r\nAuthorization: Bearer ${callersKey()}\r\nConnection: close\r\n${more}\r\n\r\n`
const chunked = (body: string) => {
  const half = body.length >> 1
  return [body.slice(0, half), body.slice(half), '']
    .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    .join('')
}
const sizes: [what: string, head: string, body: (text: string) => string][] = [
  ['with a Content-Length', '', (text) => text],
  ['in chunks', 'Transfer-Encoding: chunked', chunked],
]
for (const [what, head, shape] of sizes) {
  test(`a body ${what} can have at most 64 KiB`, async () => {
    for (const [bytes, status] of [
      [bodyBytesMax, 201],
      [bodyBytesMax + 1, 413],
    ] as const) {
      const text = petText.padEnd(bytes)
      const raw = await sendRaw(service.base, rawHead(head || `Content-Length: ${bytes}`) + shape(text))
      assert.equal(statusOf(raw), status)
      if (status === 413) assert.equal(JSON.parse(bodyOf(raw)).code, 'body_too_large')
    }
  })
}

test('a body whose Content-Length is too large is rejected before it is sent', async () => {
  const raw = await sendRaw(service.base, rawHead('Content-Length: 10000000000'))
  assert.equal(statusOf(raw), 413)
  assert.match(raw, /x-ratelimit-remaining: \d+/i)
})

test('an endless chunked body is rejected without being read to the end', async () => {
  const piece = `8000\r\n${' '.repeat(0x8000)}\r\n`
  const raw = await sendRaw(service.base, rawHead('Transfer-Encoding: chunked') + piece.repeat(4))
  assert.equal(statusOf(raw), 413)
})

// listPets

const rejectedQueries: [query: string, path: string][] = [
  ...[
    '0',
    '101',
    'abc',
    '1.5',
    '+5',
    '%2B5',
    '',
    '-1',
    '1e1',
    '0x10',
    '%20',
    '5%20',
    '١',
    '99999999999999999999',
  ].map((limit): [string, string] => [`limit=${encodeURI(limit).replaceAll('%25', '%')}`, 'limit']),
  ['limit=5&limit=5', 'limit'],
  ['limit', 'limit'],
  ['status=lost', 'status'],
  ['status=', 'status'],
  ['status=Available', 'status'],
  ['status=available,sold', 'status'],
  ['status=available&status=sold', 'status'],
  ['categoryId=', 'categoryId'],
  ['categoryId=abc', 'categoryId'],
  ['categoryId=3.5', 'categoryId'],
  ['categoryId=%2B3', 'categoryId'],
  ['categoryId=9223372036854775808', 'categoryId'],
  ['categoryId=-9223372036854775809', 'categoryId'],
  ['categoryId=3&categoryId=3', 'categoryId'],
  ['id=', 'id'],
  ['id=abc', 'id'],
  ['id=1&id=x', 'id'],
  ['id=1,2', 'id'],
  ['id=9223372036854775808', 'id'],
  [Array.from({ length: 101 }, (_, index) => `id=${index}`).join('&'), 'id'],
  [Array.from({ length: 101 }, () => 'id=1').join('&'), 'id'],
]
for (const [query, path] of rejectedQueries) {
  test(`listPets rejects ?${query.slice(0, 60)}`, async () => {
    const rejected = await call('GET', `/v1/pets?${query}`)
    assertError(rejected, 400, 'validation_failed')
    assert.deepEqual([...new Set(rejected.json.details.map((one: { path: string }) => one.path))], [path])
  })
}

test('unknown query parameters are ignored', async () => {
  assert.equal((await call('GET', '/v1/pets?colour=red&colour=blue&Limit=0')).status, 200)
})

for (const spelling of ['3', '3.0', '3e0', '30e-1', '0.3E1', '03', '003e0']) {
  test(`the filter categoryId=${spelling} means categoryId=3`, async () => {
    const pet = await add({ categoryId: 3 })
    assert.deepEqual((await call('GET', `/v1/pets?limit=1&categoryId=${spelling}`)).json, [pet])
  })
}

test('If-None-Match gets 304 for an unchanged list and the new list for a changed one', async () => {
  const first = await call('GET', '/v1/pets?limit=5')
  const etag = String(first.headers.etag)
  assert.match(etag, /^"[^"]+"$/)
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await call('GET', '/v1/pets?limit=5', { headers: { 'if-none-match': known } })
    assert.equal(again.status, 304, known)
    assert.equal(again.headers.etag, etag)
  }
  await add()
  const changed = await call('GET', '/v1/pets?limit=5', { headers: { 'if-none-match': etag } })
  assert.equal(changed.status, 200)
  assert.notEqual(changed.headers.etag, etag)
})

// getPet

test('getPet accepts every notation of the id', async () => {
  const pet = await add()
  for (const spelling of [
    `${pet.id}`,
    `00${pet.id}`,
    `${pet.id}.0`,
    `${pet.id}e0`,
    encodeURIComponent(`${pet.id}E+0`),
  ]) {
    const found = await call('GET', `/v1/pets/${spelling}`)
    assert.equal(found.status, 200, spelling)
    assert.deepEqual(found.json, pet)
  }
})

const noPets = ['0', '-1', 'abc', '1.5', '+1', '%20', '1%0A', 'null', '1e400', '%zz', '%00', '1,2']
for (const petId of [
  ...noPets,
  int64Max,
  int64Min,
  '9223372036854775808',
  '-9223372036854775809',
  '9007199254740993',
]) {
  test(`/pets/${petId} does not exist: 404 for every method`, async () => {
    for (const [method, body] of [['GET'], ['PATCH', { name: 'A' }], ['DELETE']] as const) {
      assertError(await call(method, `/v1/pets/${petId}`, { body }), 404, 'pet_not_found')
    }
  })
}

test('/pets/ does not exist: 404 for every method of /pets and /pets/{petId}', async () => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    assertError(await call(method, '/v1/pets/'), 404, 'not_found')
  }
  assert.equal((await call('HEAD', '/v1/pets/')).status, 404)
})

test('getPet returns 304 if the ETag is current', async () => {
  const { id } = await add()
  const { headers } = await call('GET', `/v1/pets/${id}`)
  const known = { headers: { 'if-none-match': String(headers.etag) } }
  assert.equal((await call('GET', `/v1/pets/${id}`, known)).status, 304)
  await call('PATCH', `/v1/pets/${id}`, { body: { name: 'Rex' } })
  assert.equal((await call('GET', `/v1/pets/${id}`, known)).status, 200)
})

function assertDeprecated({ headers }: ClientResponse) {
  assert.equal(headers.deprecation, '@1794700800')
  assert.equal(headers.sunset, 'Thu, 05 Dec 2030 00:00:00 GMT')
  assert.match(String(headers.link), /<[^>]+>; rel="deprecation"/)
  assert.match(String(headers.link), /<\/v1\/pets>; rel="successor-version"/)
}

test('every response of getPet has the deprecation headers, and no response of other operations has them', async () => {
  const { id } = await add()
  const path = `/v1/pets/${id}`
  const { etag } = (await call('GET', path)).headers
  assertDeprecated(await call('GET', path))
  assertDeprecated(await call('HEAD', path))
  assertDeprecated(await call('GET', path, { headers: { 'if-none-match': String(etag) } }))
  assertDeprecated(await call('GET', '/v1/pets/abc'))
  assertDeprecated(await call('GET', path, { key: undefined }))
  for (const response of [
    await call('GET', '/v1/pets'),
    await call('PATCH', path, { body: {} }),
    await call('PUT', path),
    await call('DELETE', path),
  ]) {
    assert.equal(response.headers.deprecation, undefined)
    assert.equal(response.headers.sunset, undefined)
  }
})

test('after its sunset getPet returns 410 and names its replacement; other operations are not affected', async () => {
  const own = await startTestService()
  try {
    const { id } = (
      await own.request('POST', '/v1/pets', { key: own.operatorKey, body: { name: 'A', categoryId: 1 } })
    ).json
    const get = () => own.request('GET', `/v1/pets/${id}`, { key: own.operatorKey })
    own.advance(Date.UTC(2030, 11, 5) - own.now() - 1)
    assert.equal((await get()).status, 200)
    own.advance(1)
    const gone = await get()
    assertResponseHeaders(gone, 'GET')
    assertError(gone, 410, 'operation_removed')
    assert.match(gone.json.message, /GET \/pets\b/)
    assertDeprecated(gone)
    const listed = await own.request('GET', `/v1/pets?id=${id}`, { key: own.operatorKey })
    assert.equal(listed.json.length, 1)
    const changed = await own.request('PATCH', `/v1/pets/${id}`, {
      key: own.operatorKey,
      body: { name: 'B' },
    })
    assert.equal(changed.status, 200)
  } finally {
    await own.stop()
  }
})

// updatePet

const rejectedChanges: [body: string, code: string][] = [
  ['', 'malformed_json'],
  ['{"name":"A","name":"B"}', 'malformed_json'],
  ['[]', 'validation_failed'],
  ['{"name":null}', 'validation_failed'],
  ['{"name":" "}', 'validation_failed'],
  [`{"name":"${'a'.repeat(256)}"}`, 'validation_failed'],
  ['{"status":null}', 'validation_failed'],
  ['{"status":"gone"}', 'validation_failed'],
  ['{"categoryId":null}', 'validation_failed'],
  ['{"categoryId":"3"}', 'validation_failed'],
  ['{"categoryId":3.5}', 'validation_failed'],
  ['{"name":"B","categoryId":9223372036854775808}', 'validation_failed'],
]
for (const [body, code] of rejectedChanges) {
  test(`updatePet rejects ${body.slice(0, 50) || 'no body'} and changes nothing`, async () => {
    const pet = await add()
    assertError(await call('PATCH', `/v1/pets/${pet.id}`, { body }), 400, code)
    assert.deepEqual(await read(pet.id), pet)
  })
}

const transitions: [from: string, to: string, status: 200 | 409][] = [
  ['available', 'available', 200],
  ['available', 'pending', 200],
  ['available', 'sold', 200],
  ['pending', 'available', 200],
  ['pending', 'pending', 200],
  ['pending', 'sold', 200],
  ['sold', 'available', 200],
  ['sold', 'pending', 409],
  ['sold', 'sold', 200],
]
for (const [from, to, status] of transitions) {
  test(`a pet ${status === 200 ? 'can' : 'cannot'} change from ${from} to ${to}`, async () => {
    const pet = await add({ status: from })
    const changed = await call('PATCH', `/v1/pets/${pet.id}`, { body: { status: to, name: 'Rex' } })
    if (status === 409) {
      assertError(changed, 409, 'illegal_transition')
      assert.deepEqual(await read(pet.id), pet)
    } else {
      assert.deepEqual(changed.json, { ...pet, status: to, name: 'Rex' })
    }
  })
}

// Methods and paths

test('HEAD returns the status and headers of GET without the body', async () => {
  const { id } = await add()
  for (const path of [
    '/v1/pets?limit=1',
    `/v1/pets/${id}`,
    '/v1/pets/abc',
    '/v1/pets?limit=0',
    '/v1/nothing',
  ]) {
    const get = await call('GET', path)
    const head = await call('HEAD', path)
    assert.equal(head.status, get.status, path)
    assert.equal(head.headers.etag, get.headers.etag)
    assert.equal(head.headers.link, get.headers.link)
    assert.equal(head.headers['content-type'], get.headers['content-type'])
  }
  const { etag } = (await call('GET', '/v1/pets')).headers
  const known = { headers: { 'if-none-match': String(etag) } }
  assert.equal((await call('HEAD', '/v1/pets', known)).status, 304)
})

const allowed = { '/v1/pets': 'GET, HEAD, OPTIONS, POST', '/v1/pets/1': 'DELETE, GET, HEAD, OPTIONS, PATCH' }
const sortedAllow = ({ headers }: ClientResponse) => String(headers.allow).split(', ').sort().join(', ')
for (const [path, expected] of Object.entries(allowed)) {
  test(`${path} allows ${expected}: 405 for other methods, and OPTIONS lists them without a key`, async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY']) {
      if (expected.includes(method)) continue
      const rejected = await call(method, path)
      assertError(rejected, 405, 'method_not_allowed')
      assert.equal(sortedAllow(rejected), expected)
    }
    for (const options of [{ key: callersKey() }, { key: undefined }]) {
      const response = await call('OPTIONS', path, options)
      assert.equal(response.status, 204)
      assert.equal(sortedAllow(response), expected)
    }
  })
}

for (const path of [
  '/v1',
  '/v1/',
  '/v1/nothing',
  '/v1/Pets',
  '/v1/pets/1/2',
  '/v1//pets',
  '/v1/pets%2F1',
  '/v1/%70ets',
]) {
  test(`${path} does not exist: 404 for every method`, async () => {
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE', 'OPTIONS']) {
      assertError(await call(method, path), 404, 'not_found')
    }
  })
}

// The order of checks

const readKey = async () => (await service.makeKey({ ...amplePlan, scopes: ['pets:read'] })).key
const writeKey = async () => (await service.makeKey({ ...amplePlan, scopes: ['pets:write'] })).key

test('a missing or invalid key is reported before any other error', async () => {
  for (const [method, path, body] of [
    ['GET', '/v1/pets'],
    ['GET', '/v1/pets?limit=0'],
    ['POST', '/v1/pets', 'nonsense'],
    ['GET', '/v1/pets/1'],
    ['PATCH', '/v1/pets/abc', '{}'],
    ['DELETE', '/v1/pets/1'],
    ['PUT', '/v1/pets'],
    ['GET', '/v1/nothing'],
  ] as const) {
    const missing = await call(method, path, { key: undefined, body })
    assertError(missing, 401, 'missing_api_key')
    assert.equal(missing.headers['www-authenticate'], 'Bearer')
    const wrong = await call(method, path, { key: 'nonsense', body })
    assertError(wrong, 401, 'invalid_api_key')
    assert.equal(wrong.headers['www-authenticate'], 'Bearer')
  }
})

test('a missing scope is reported after routing errors and before input errors', async () => {
  const reader = await readKey()
  for (const [method, path] of [
    ['POST', '/v1/pets'],
    ['PATCH', '/v1/pets/abc'],
    ['DELETE', '/v1/pets/abc'],
  ] as const) {
    assertError(await call(method, path, { key: reader, body: 'nonsense' }), 403, 'insufficient_scope')
  }
  assert.equal((await call('GET', '/v1/pets', { key: reader })).status, 200)
  const writer = await writeKey()
  assertError(await call('GET', '/v1/pets?limit=0', { key: writer }), 403, 'insufficient_scope')
  assertError(await call('GET', '/v1/pets/abc', { key: writer }), 403, 'insufficient_scope')
  assertError(await call('PUT', '/v1/pets', { key: reader }), 405, 'method_not_allowed')
  assertError(await call('GET', '/v1/nothing', { key: writer }), 404, 'not_found')
})

test('a valid X-Request-Id is returned; any other is replaced with a new id', async () => {
  const send = async (id: string) =>
    (await call('GET', '/v1/pets', { headers: { 'x-request-id': id } })).headers['x-request-id']
  for (const id of ['a', 'A.b_c-9', 'x'.repeat(128)]) assert.equal(await send(id), id)
  for (const id of ['', ' ', 'a b', 'x'.repeat(129), 'a/b', 'é', '"a"']) assert.notEqual(await send(id), id)
  assert.notEqual(await send(''), await send(''))
})

test('with a configured public URL, links are absolute', async () => {
  const own = await startTestService({ PETSTORE_PUBLIC_URL: 'https://pets.example/' })
  try {
    const body = { name: 'A', categoryId: 1 }
    const added = await own.request('POST', '/v1/pets', { key: own.operatorKey, body })
    assert.equal(added.headers.location, 'https://pets.example/v1/pets/1')
    await own.request('POST', '/v1/pets', { key: own.operatorKey, body })
    const listed = await own.request('GET', '/v1/pets?limit=1', { key: own.operatorKey })
    assert.match(String(listed.headers.link), /^<https:\/\/pets\.example\/v1\/pets\?[^>]+>; rel="next"$/)
  } finally {
    await own.stop()
  }
})
