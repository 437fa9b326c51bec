import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'
import { basename, dirname } from 'node:path'
import { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { browserTest, hasBrowser, type TestBrowser, useBrowser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** A library waits three seconds before it connects again; a busy machine takes its time as well. */
const reconnectMaxMs = 60_000

/** What the page keeps for the test to look at. */
type Followed = { opens: number; received: number[]; failed: string | null }

const script = `
  import { EventSource } from '/eventsource/index.js'
  const { api, key } = await (await fetch('/settings')).json()
  const headers = { Authorization: 'Bearer ' + key }
  const followed = globalThis.followed = { opens: 0, received: [], failed: null }
  const source = new EventSource(api + '/v1/events', {
    fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, ...headers } }),
  })
  source.addEventListener('open', () => followed.opens++)
  source.addEventListener('pet.created', ({ lastEventId }) => followed.received.push(Number(lastEventId)))
  source.addEventListener('error', ({ message }) => {
    if (source.readyState === EventSource.CLOSED) followed.failed = message ?? 'closed'
  })
  globalThis.sendRequest = async (method, path) => {
    const response = await fetch(api + path, { method, headers })
    const { code } = await response.json()
    const shown = ['Allow', 'Last-Event-Id', 'X-Request-Id'].map((name) => response.headers.get(name))
    return [response.status, code, ...shown]
  }`
const imports = JSON.stringify({ imports: { 'eventsource-parser': '/eventsource-parser/index.js' } })
const html = `<!doctype html><title>A page</title>
  <script type="importmap">${imports}</script><script type="module">${script}</script>`

let service: TestService
let chromium: TestBrowser
let page: Page
let settings: { api: string; key: string }
const servers: Server[] = []

async function listen(server: Server): Promise<string> {
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The modules of a package, as they are shipped. */
function moduleText(path: string): string | undefined {
  const [, name = '', file = ''] = path.split('/')
  if (!/^eventsource(?:-parser)?$/.test(name) || !file.endsWith('.js')) return undefined
  const folder = dirname(fileURLToPath(import.meta.resolve(name)))
  return readFileSync(`${folder}/${basename(file)}`, 'utf8')
}

const pageServer = () =>
  createServer(({ url = '/' }, response) => {
    const text = url === '/' ? html : url === '/settings' ? JSON.stringify(settings) : moduleText(url)
    const type = url === '/' ? 'text/html' : url === '/settings' ? 'application/json' : 'text/javascript'
    response.writeHead(text === undefined ? 404 : 200, { 'Content-Type': `${type}; charset=utf-8` }).end(text)
  })

/** An address that stays when the service starts again, as that of a balancer does. */
const balancer = () =>
  createTcpServer((client) => {
    const upstream = connect(Number(new URL(service.base).port), '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
  })

before(async () => {
  if (!hasBrowser) return
  service = await startTestService()
  const [origin, api] = [await listen(pageServer()), await listen(balancer())]
  const { key } = await service.makeKey({ plan: 'pro', origins: [origin], scopes: ['events:read'] })
  settings = { api, key }
  chromium = await useBrowser()
  // Not openPage(): its routes would respond to the preflights instead of the service.
  page = await (await chromium.browser.newContext()).newPage()
  await page.goto(origin)
  await eventually('the page follows', async () => (await followed())?.opens === 1, reconnectMaxMs)
})
after(async () => {
  await chromium?.close()
  await service?.stop()
  for (const server of servers) server.close()
})

const followed = () => page.evaluate<Followed | undefined>('globalThis.followed')
async function received(count: number): Promise<number[]> {
  const found = await eventually(
    `${count} events in the page`,
    async () => {
      const state = await followed()
      assert.equal(state?.failed, null)
      return (state?.received.length ?? 0) >= count && state
    },
    reconnectMaxMs,
  )
  return found.received
}
async function addPet(name: string): Promise<void> {
  const body = { name, categoryId: 3 }
  const { status, text } = await service.request('POST', '/v1/pets', { key: service.operatorKey, body })
  assert.equal(status, 201, text)
}
const createdIds = async () =>
  (await service.request('GET', '/v1/events?limit=1000', { key: service.operatorKey })).json
    .filter(({ type }: { type: string }) => type === 'pet.created')
    .map(({ id }: { id: number }) => id)

browserTest(
  'a page follows events with a publishable key, and resumes after a restart without a gap or a repetition',
  async () => {
    for (const name of ['first', 'second']) await addPet(name)
    await received(2)
    await service.restart()
    for (const name of ['missed', 'missed too']) await addPet(name)
    await received(4)
    await addPet('live again')
    assert.deepEqual(await received(5), await createdIds())
    assert.equal((await followed())?.opens, 2)
  },
)

browserTest('a page reads the newest event id, a 404 and a 405', async () => {
  const send = (method: string, path: string) =>
    page.evaluate<unknown[]>(`globalThis.sendRequest('${method}', '${path}')`)
  const [status, code, , lastEventId] = await send('GET', '/v1/events?limit=1')
  assert.deepEqual([status, code], [200, undefined])
  assert.match(String(lastEventId), /^\d+$/)
  assert.deepEqual((await send('DELETE', '/v1/nowhere')).slice(0, 2), [404, 'not_found'])
  const [rejected, why, allow, , requestId] = await send('PATCH', '/v1/events')
  assert.deepEqual([rejected, why, allow], [405, 'method_not_allowed', 'GET, HEAD, OPTIONS'])
  assert.match(String(requestId), /^[\w.-]+$/)
})
