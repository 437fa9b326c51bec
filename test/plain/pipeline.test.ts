import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { describe, test } from 'node:test'
import type { RequestLog } from '../../src/api/authentication.ts'
import { Pipeline, type PipelineOptions } from '../../src/api/pipeline.ts'
import type { ApiRequest } from '../../src/api/request.ts'
import { headerValue } from '../../src/api/response.ts'

const rates = ['X-RateLimit-Limit', '60', 'X-RateLimit-Remaining', '59']

function pipelineOf(options: Partial<PipelineOptions>) {
  const logged: RequestLog[] = []
  const pipeline = new Pipeline({
    operations: [],
    pages: [],
    database: { onCommit() {}, onExternalChange() {} },
    clock: () => 0,
    trustedProxies: new BlockList(),
    publicUrl: undefined,
    admitToPages: () => undefined,
    onFinished: (finished) => void logged.push(finished),
    authenticator: { rateLimitHeadersFor: () => rates },
    ...options,
  } as PipelineOptions)
  return { handle: (given: ApiRequest) => pipeline.handle(given), logged }
}

const request = (given: Partial<ApiRequest>): ApiRequest => ({
  method: 'GET',
  target: '/',
  remoteAddress: '192.0.2.1',
  header: () => undefined,
  body: async () => new Uint8Array(),
  ...given,
})

describe('a handler that throws is a fault of the service, and is logged', () => {
  const fault = new Error('the handler failed')

  test('a page', async () => {
    const pages = [{ path: '/broken', serve: () => Promise.reject(fault) }]
    const { handle, logged } = pipelineOf({ pages })
    const { status, body } = await handle(request({ target: '/broken' }))
    assert.deepEqual([status, JSON.parse(String(body)).code], [500, 'internal_error'])
    assert.deepEqual(
      logged.map(({ error, path }) => [error, path]),
      [[fault, '/broken']],
    )
  })

  test('the authenticator', async () => {
    const authenticator = { rateLimitHeadersFor: () => rates, authenticate: () => Promise.reject(fault) }
    const { handle, logged } = pipelineOf({
      authenticator: authenticator as unknown as PipelineOptions['authenticator'],
    })
    const { status, headers } = await handle(request({ target: '/v1/pets' }))
    assert.deepEqual([status, headerValue(headers, 'X-RateLimit-Remaining')], [500, '59'])
    assert.equal(logged[0]?.error, fault)
  })
})

test('a request that could not be read gets the rate limit headers of its address', async () => {
  for (const [problem, status] of [
    ['invalid_http', 400],
    ['invalid_target', 400],
    ['connect_method', 400],
    ['headers_too_large', 431],
    ['chunk_extensions_too_large', 413],
    ['timeout', 408],
  ] as const) {
    const { handle, logged } = pipelineOf({})
    const response = await handle(request({ target: '', problem }))
    assert.equal(response.status, status)
    assert.equal(headerValue(response.headers, 'X-RateLimit-Limit'), '60')
    assert.match(headerValue(response.headers, 'X-Request-Id') ?? '', /^[\w-]{22}$/)
    assert.equal(logged.length, 1)
  }
})
