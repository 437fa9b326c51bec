import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  etagOf,
  matchesIfNoneMatch,
  requireEtag,
  requireIfMatch,
  respondWithEtag,
} from '../../src/api/etag.ts'

const tag = etagOf('{"id":1}')
const sending = (value: string | undefined) => ({
  header: (name: string) => (name === 'if-match' ? value : undefined),
})
const isAccepted = (value: string | undefined): boolean => {
  try {
    requireEtag(tag, sending(value))
    return true
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'precondition_failed')
    return false
  }
}

test('an ETag is strong, has 27 characters and depends on every byte', () => {
  assert.match(tag, /^"[A-Za-z0-9_-]{27}"$/)
  assert.equal(tag, etagOf('{"id":1}'))
  assert.notEqual(tag, etagOf('{"id":2}'))
})

test('If-Match is a strong comparison', () => {
  for (const value of [undefined, '*', ' * ', tag, `"other", ${tag}`, `${tag},"other"`])
    assert.ok(isAccepted(value), String(value))
  for (const value of ['', '"other"', `W/${tag}`, tag.slice(1), 'other', '**'])
    assert.ok(!isAccepted(value), value)
})

test('If-None-Match is a weak comparison', () => {
  for (const value of ['*', ' * ', tag, `W/${tag}`, `"other", W/${tag}`])
    assert.ok(matchesIfNoneMatch(value, tag), value)
  assert.ok(matchesIfNoneMatch(tag, `W/${tag}`))
  for (const value of ['', '"other"', '"W/other"', tag.slice(1), '**'])
    assert.ok(!matchesIfNoneMatch(value, tag), value)
  assert.ok(!matchesIfNoneMatch('"aW/b"', '"ab"'))
})

test('a value is compared by the ETag of its response', () => {
  const response = respondWithEtag(200, { id: 1n })
  assert.deepEqual(response, { status: 200, json: '{"id":1}', value: { id: 1n }, headers: { ETag: tag } })
  requireIfMatch({ id: 1n }, sending(tag))
  requireIfMatch({ id: 2n }, sending(undefined))
  assert.throws(() => requireIfMatch({ id: 2n }, sending(tag)))
})
