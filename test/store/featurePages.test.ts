import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { boardAllowance } from '../support/additionalOperations.ts'
import { useService } from '../support/useService.ts'

const service = useService(
  { PETSTORE_TRUSTED_PROXIES: '127.0.0.1', PETSTORE_METRICS_OPEN: 'true' },
  { additional: new URL('../support/additionalOperations.ts', import.meta.url) },
)
let petId: number
before(async () => {
  const body = { name: 'Milo', categoryId: 1 }
  petId = (await service.request('POST', '/v1/pets', { key: service.operatorKey, body })).json.id
})

let addresses = 0
/** From an address that has sent nothing so far, unless one is given. */
const send = (path: string, { method = 'GET', headers = {}, address = `203.0.113.${++addresses}` } = {}) =>
  service.request(method, path, { headers: { ...headers, 'x-forwarded-for': address } })

/** Requests to the page so far, by status. */
async function counted(): Promise<Record<string, number>> {
  const { text } = await send('/metrics')
  const counts = text.matchAll(/_count\{operation="noticeBoard",status="(\d+)"\} (\d+)/g)
  return Object.fromEntries([...counts].map(([, status, count]) => [status, Number(count)]))
}

describe('a page of a feature', () => {
  test('gets its parameter, reads the database and sets its headers', async () => {
    const { status, text, headers } = await send(`/board/${petId}`)
    assert.deepEqual([status, text], [200, '<h1>Milo</h1>'])
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(headers['cache-control'], 'public, max-age=60')
    assert.equal(headers['x-now'], String(service.now()))
    assert.match(String(headers['x-request-id']), /^[\w-]{22}$/)
    assert.equal(headers['x-ratelimit-limit'], undefined, 'it is not part of the API')
  })

  test('is found with a slash at the end, and with an escaped parameter', async () => {
    assert.equal((await send(`/board/${petId}/`)).status, 200)
    const escaped = `%3${String(petId)[0]}${String(petId).slice(1)}`
    assert.equal((await send(`/board/${escaped}`)).text, '<h1>Milo</h1>')
  })

  test('responds with its own 404, and to HEAD, If-None-Match and other methods', async () => {
    const missing = await send('/board/999')
    assert.deepEqual([missing.status, missing.text], [404, '<h1>There is no such animal.</h1>'])
    const page = await send(`/board/${petId}`)
    const head = await send(`/board/${petId}`, { method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [200, ''])
    assert.equal(head.headers['content-length'], page.headers['content-length'])
    const known = { 'if-none-match': String(page.headers.etag) }
    assert.equal((await send(`/board/${petId}`, { headers: known })).status, 304)
    const rejected = await send(`/board/${petId}`, { method: 'POST' })
    assert.deepEqual([rejected.status, rejected.headers.allow], [405, 'GET, HEAD'])
  })

  test('does not exist without its parameter, or below it', async () => {
    for (const path of ['/board', '/board/', '/board//', `/board/${petId}/more`]) {
      const { status, json } = await send(path)
      assert.deepEqual([status, json?.code], [404, 'not_found'], path)
    }
  })

  test('is counted in the metrics and logged, also if it succeeds', async () => {
    const before = await counted()
    await send(`/board/${petId}`, { headers: { 'x-request-id': 'seen' } })
    await send('/board/999')
    assert.equal((await send('/board/broken')).status, 500)
    await send('/guides')
    const after = await counted()
    for (const status of ['200', '404', '500'])
      assert.equal((after[status] ?? 0) - (before[status] ?? 0), 1, status)
    const line = service.logLines
      .map((text) => JSON.parse(text))
      .find(({ requestId }) => requestId === 'seen')
    assert.deepEqual([line?.operation, line?.status], ['noticeBoard', 200])
  })

  test('has an allowance of its own', async () => {
    const address = '198.51.100.1'
    const { name, perMinute } = boardAllowance
    for (let n = 0; n < perMinute; n++) assert.equal((await send('/board/999', { address })).status, 404)
    const { status, json, headers } = await send(`/board/${petId}`, { address })
    assert.deepEqual([status, json.code], [429, 'rate_limit_exceeded'])
    assert.match(json.message, new RegExp(`more than ${perMinute} requests a minute for ${name}`))
    assert.match(String(headers['retry-after']), /^\d+$/)
    assert.equal((await send('/guides', { address })).status, 200, 'other pages have another one')
    assert.equal((await send(`/board/${petId}`)).status, 200, 'another address too')
    service.advance(60_000)
    assert.equal((await send(`/board/${petId}`, { address })).status, 200)
  })
})
