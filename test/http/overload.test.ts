import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { defaultLoadBounds } from '../../src/server/server.ts'
import { releasePreparations, waitingReads } from '../support/additionalOperations.ts'
import type { ClientResponse } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { openRawConnection } from '../support/rawConnection.ts'
import { assertError, assertResponseHeaders } from '../support/responses.ts'
import { useService } from '../support/useService.ts'

const origin = 'https://shelter.example'
const additional = new URL('../support/additionalOperations.ts', import.meta.url)

describe('a service with too many changes in progress', () => {
  const bounds = { inProgressMax: 1, waitMaxMs: 1, burstMaxMs: 1 }
  const service = useService({ PETSTORE_METRICS_OPEN: 'true' }, { additional, bounds })
  let inProgress: Promise<ClientResponse>
  let key: string

  before(async () => {
    key = (await service.makeKey({ plan: 'pro' })).key
    await service.makeKey({ scopes: ['pets:read'], origins: [origin] })
    const options = { key: service.operatorKey, headers: { 'content-type': 'image/webp' }, body: 'wait' }
    inProgress = service.request('POST', '/v1/test/pets/1/pictures', options)
    const state = () => service.request('GET', '/v1/test/state', { key: service.operatorKey })
    await eventually('the change is in progress', async () => (await state()).json.prepared === 1)
  })
  after(() => releasePreparations())

  const create = (headers: Record<string, string> = {}, secret = key) =>
    service.request('POST', '/v1/pets', { key: secret, headers, body: { name: 'Milo', categoryId: 1 } })
  const metric = async (name: string) => {
    const { text } = await service.request('GET', '/metrics')
    return new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'm').exec(text)?.[1]
  }

  test('a change beyond what can be in progress gets an early 503', async () => {
    const response = await create({ 'x-request-id': 'mine' })
    assertError(response, 503, 'unavailable')
    assertResponseHeaders(response, 'POST')
    assert.match(response.json.message, /This one was not processed\./)
    const { headers } = response
    assert.equal(headers['retry-after'], '1')
    assert.equal(headers['x-request-id'], 'mine')
    assert.equal(headers['x-ratelimit-limit'], '100', 'the limit of the address')
    assert.match(String(headers.connection), /keep-alive/i)
    assert.equal((await service.request('GET', '/v1/store/inventory', { key })).json.available, 0)
  })

  test('it is rejected before authentication, and a web page can read the response', async () => {
    const { status, headers } = await create({ origin }, 'wrong')
    assert.equal(status, 503)
    assert.equal(headers['access-control-allow-origin'], origin)
    assert.equal(headers['x-ratelimit-remaining'], '100', 'it does not count for the address')
  })

  test('a page rejects it in its own format, and other web sites can read it', async () => {
    const shed = async () => Number(await metric('petstore_requests_shed_total'))
    const before = await shed()
    const page = await service.request('POST', '/adopt')
    assert.deepEqual([page.status, page.headers['retry-after']], [503, '1'])
    assert.match(String(page.headers['content-type']), /^text\/html/)
    const feed = await service.request('POST', '/adopt/animals.json', { headers: { origin } })
    assert.equal(feed.status, 503)
    assert.equal(feed.headers['access-control-allow-origin'], '*')
    assert.equal(await shed(), before + 2)
  })

  test('it counts for no key and is in one metric and one line of the log', async () => {
    const remaining = async () => (await service.request('GET', '/v1/limits', { key })).json.day.remaining
    const before = await remaining()
    const shedBefore = Number(await metric('petstore_requests_shed_total'))
    for (let n = 0; n < 3; n++) assert.equal((await create({ 'x-request-id': 'not-logged' })).status, 503)
    assert.equal(await remaining(), before)
    assert.equal(Number(await metric('petstore_requests_shed_total')), shedBefore + 3)
    assert.doesNotMatch((await service.request('GET', '/metrics')).text, /^petstore_refusals_total.* [1-9]/m)
    const lines = service.logLines.map((line) => JSON.parse(line))
    const warnings = lines.filter(({ msg }) => msg === 'overloaded: requests rejected')
    assert.deepEqual(
      warnings.map(({ level, count, address }) => ({ level, count, address })),
      [{ level: 40, count: 1, address: '127.0.0.1' }],
    )
    assert.ok(!service.logLines.some((line) => line.includes('not-logged')))
  })

  test('reads and probes go on, and so does what is in progress', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics'])
      assert.equal((await service.request('GET', path)).status, 200, path)
    assert.equal((await service.request('GET', '/v1/pets', { key })).status, 200)
    assert.equal((await create()).status, 503)
    releasePreparations()
    assert.equal((await inProgress).status, 201)
    assert.equal((await create()).status, 201, 'it recovers')
  })
})

describe('a service with too many reads in progress', () => {
  const service = useService({}, { additional, bounds: { inProgressMax: 1, waitMaxMs: 1, burstMaxMs: 1 } })
  after(() => releasePreparations())

  test('a body that is announced, but does not arrive, does not change that', async () => {
    const key = service.operatorKey
    const inventory = async () => (await service.request('GET', '/v1/store/inventory', { key })).status
    assert.equal(await inventory(), 200)
    const head = `GET /v1/test/pictures/wait HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${key}\r\n`
    const { socket } = await openRawConnection(service.base, `${head}Content-Length: 1\r\n\r\n`)
    await eventually('it is in progress', () => waitingReads() === 1)
    assert.equal(await inventory(), 503)
    releasePreparations()
    await eventually('it recovers', async () => (await inventory()) === 200)
    socket.destroy()
  })
})

describe('a service that is busy, but not overloaded', () => {
  // A machine can be so busy that requests wait for seconds.
  const bounds = { ...defaultLoadBounds, waitMaxMs: 60_000, burstMaxMs: 60_000 }
  const service = useService({}, { bounds })

  test('rejects nothing', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise' })
    const caller = async (n: number) => {
      const statuses = new Set<number>()
      for (let turn = 0; turn < 10; turn++) {
        const body = { name: `${n} ${turn}`, categoryId: 1 }
        statuses.add((await service.request('POST', '/v1/pets', { key, body })).status)
        statuses.add((await service.request('GET', '/v1/pets', { key })).status)
      }
      return [...statuses]
    }
    const callers = await Promise.all(Array.from({ length: 30 }, (_, n) => caller(n)))
    assert.deepEqual(new Set(callers.flat()), new Set([201, 200]))
  })
})
