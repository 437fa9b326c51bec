import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import * as z from 'zod'
import { ApiError } from '../../src/api/errors.ts'
import type { Operation, ReadContext } from '../../src/api/operation.ts'
import {
  encodeCursor,
  isPaginated,
  ListCursor,
  nextLink,
  pageLimit,
  pageReader,
} from '../../src/api/pagination.ts'
import { int64Text } from '../../src/api/validation.ts'

type Filter = { readonly status?: string | undefined; readonly id?: readonly string[] | undefined }
const filterSchema: z.ZodType<Filter> = z.object({
  status: z.enum(['available', 'sold']).optional(),
  id: z.array(z.string()).optional(),
})
const cursors = new ListCursor('pets', filterSchema)
const isInvalid = (error: unknown) => error instanceof ApiError && error.code === 'invalid_cursor'
const assertInvalid = (cursor: string, sent: Filter = {}) =>
  assert.throws(() => cursors.decode(cursor, sent), isInvalid, cursor)

test('a cursor returns the last id and the filters', () => {
  const filters: Filter[] = [{}, { status: 'sold' }, { status: 'sold', id: ['7', '8'] }]
  for (const filter of filters) {
    const cursor = cursors.encode(42, filter)
    assert.match(cursor, /^[A-Za-z0-9_-]+$/)
    for (const sent of [{}, filter]) assert.deepEqual(cursors.decode(cursor, sent), [42, filter])
  }
  assert.deepEqual(cursors.decode(cursors.encode(42, { status: undefined }), { status: undefined }), [42, {}])
  assert.deepEqual(cursors.decode(undefined, { status: 'sold' }), [undefined, { status: 'sold' }])
})

test('a cursor with other filters is rejected', () => {
  assertInvalid(cursors.encode(42, {}), { status: 'sold' })
  assertInvalid(cursors.encode(42, { status: 'sold' }), { status: 'available' })
  assertInvalid(cursors.encode(42, { id: ['7', '8'] }), { id: ['7'] })
})

test('an id that is an int64 is exact', () => {
  const ofInt64 = new ListCursor<object, bigint>('categories', undefined, int64Text())
  for (const id of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n])
    assert.deepEqual(ofInt64.decode(ofInt64.encode(id, {}), {}), [id, {}])
})

/** A cursor with this content and a correct checksum, which contains no secret. */
function forged(payload: string): string {
  const bytes = Buffer.from(payload)
  const checksum = createHash('sha256').update(bytes).digest().subarray(0, 6)
  return Buffer.concat([checksum, bytes]).toString('base64url')
}

test('a cursor that is damaged, forged or of another list is rejected', () => {
  const cursor = cursors.encode(42, { status: 'sold' })
  assert.equal(forged('["pets",42,{"status":"sold"}]'), cursor)
  for (let at = 0; at < cursor.length; at++)
    assertInvalid(cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1))
  for (const text of ['', cursor.slice(1), cursor.slice(0, -1), `${cursor}=`, ` ${cursor}`, cursor + cursor])
    assertInvalid(text)
  for (const payload of ['', 'nonsense', 'null', '{}', '{"0":"pets","1":42,"2":{}}', '"pets"'])
    assertInvalid(forged(payload))
  for (const payload of [[], [42], ['42', {}], [4.5, {}], [42, { status: 'lost' }], [42, {}, 'more']])
    assertInvalid(encodeCursor('pets', payload))
  assertInvalid(encodeCursor('keys', [42, {}]))
})

type Item = { readonly id: number }
const context = { now: 5, publicUrl: 'http://store', path: '/v1/pets' } as ReadContext
const parametersOf = (link: string) =>
  [...new URL(/^<(.*)>; rel="next"$/.exec(link)?.[1] ?? '').searchParams].filter(
    ([name]) => name !== 'cursor',
  )

test('a page has at most its limit, and a Link exactly if there are more items', async () => {
  const items: Item[] = [{ id: 9 }, { id: 8 }, { id: 7 }]
  const found: unknown[] = []
  const read = pageReader(cursors, async (_, limit, lastId, filter, now) => {
    found.push([limit, lastId, filter, now])
    return items.filter(({ id }) => id < (lastId ?? 10)).slice(0, limit)
  })
  const single = await read({ query: { limit: 1 } }, context)
  assert.match(String(single.headers?.Link), /^<.*>; rel="next"$/)
  found.length = 0
  const whole = await read({ query: { limit: 3 } }, context)
  assert.deepEqual(whole, { status: 200, json: '[{"id":9},{"id":8},{"id":7}]', value: items, headers: {} })
  const first = await read({ query: { limit: 2, status: 'sold', id: ['7', '8'] } }, context)
  assert.deepEqual(first.value, items.slice(0, 2))
  const link = String(first.headers?.Link)
  assert.match(link, /^<http:\/\/store\/v1\/pets\?limit=2&/)
  const parameters = [['limit', '2'], ['status', 'sold'], ['id', '7'], ['id', '8']] // biome-ignore format: short
  assert.deepEqual(parametersOf(link), parameters)
  const cursor = String(/cursor=([\w-]+)/.exec(link)?.[1])
  const last = await read({ query: { limit: 2, cursor } }, context)
  assert.deepEqual([last.value, last.headers], [items.slice(2), {}])
  const filter = { status: 'sold', id: ['7', '8'] }
  assert.deepEqual(found, [[4, undefined, {}, 5], [3, undefined, filter, 5], [3, 8, filter, 5]]) // biome-ignore format: short
})

test('the items of a page are serialized with the time of the request', async () => {
  const serialize = ({ id }: Item, now: number) => `${id} at ${now}`
  const read = pageReader(cursors, async () => [{ id: 9 }], serialize)
  assert.deepEqual((await read({ query: { limit: 1 } }, context)).value, ['9 at 5'])
})

test('the limit of a page is within its bounds, and has a default', () => {
  for (const [text, limit] of [
    [undefined, 20],
    ['1', 1],
    ['100', 100],
  ] as const)
    assert.equal(pageLimit().parse(text), limit)
  for (const text of ['0', '101', '-1', '']) assert.ok(!pageLimit().safeParse(text).success, text)
  assert.deepEqual([pageLimit(5, 2).parse(undefined), pageLimit(5, 2).safeParse('6').success], [2, false])
})

test('a Link leaves out what is undefined', () => {
  assert.equal(nextLink(context, { a: 1n, b: undefined }), '<http://store/v1/pets?a=1>; rel="next"')
})

test('an operation with a cursor in its query is paginated', () => {
  const operation = (query?: z.ZodObject) => ({ query }) as Operation
  assert.equal(isPaginated(operation(z.object({ cursor: z.string() }))), true)
  assert.equal(isPaginated(operation(z.object({ limit: z.string() }))), false)
  assert.equal(isPaginated(operation()), false)
})
