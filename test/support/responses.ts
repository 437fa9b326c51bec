import assert from 'node:assert/strict'
import type { ClientResponse } from './client.ts'
import { errorCatalogue } from './errorCatalogue.ts'

/** Limits that no test reaches. */
export const amplePlan = { plan: 'enterprise', limits: { perMinute: 1_000_000_000, perDay: 1_000_000_000 } }

/** Checks what every response under /v1 has. */
export function assertResponseHeaders(response: ClientResponse, method: string): void {
  const { status, headers, text } = response
  assert.match(String(headers['x-ratelimit-limit']), /^\d+$/)
  assert.match(String(headers['x-ratelimit-remaining']), /^\d+$/)
  assert.match(String(headers['x-ratelimit-reset']), /^\d+$/)
  assert.match(String(headers['x-request-id']), /^[A-Za-z0-9._-]{1,128}$/)
  assert.equal(headers['cache-control'], 'private, no-cache')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  if (method === 'HEAD' || status === 204 || status === 304) {
    assert.equal(text, '')
    return
  }
  assert.equal(headers['content-type'], 'application/json; charset=utf-8')
  if (status >= 400) assertErrorBody(response)
}

/** The body of an error has code, message, status and optional details, and nothing else. */
function assertErrorBody({ status, json }: ClientResponse): void {
  const { code, message, status: saidStatus, details, ...others } = json
  assert.deepEqual(others, {})
  assert.equal(saidStatus, status)
  assert.equal(errorCatalogue.get(code)?.status, status, `code ${code}`)
  assert.equal(typeof message, 'string')
  assert.notEqual(message, '')
  if (details === undefined) return
  assert.equal(status, 400)
  assert.ok(details.length > 0)
  for (const detail of details) {
    assert.deepEqual(Object.keys(detail), ['path', 'message'])
    assert.ok(detail.path.isWellFormed())
  }
}

export function assertError(response: ClientResponse, status: number, code: string): void {
  assert.deepEqual({ status: response.status, code: response.json?.code }, { status, code }, response.text)
}

/** The URL of the next page, from the Link header. */
export const nextPage = ({ headers }: ClientResponse): string | undefined =>
  /<([^>]+)>; rel="next"/.exec(String(headers.link ?? ''))?.[1]
