import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { after, before, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { hasBrowser, type TestBrowser, useBrowser } from './browser.ts'
import { packClient } from './clientPackage.ts'
import { withIndexing } from './service.ts'
import { useService } from './useService.ts'

export const adoptionPageFolder = fileURLToPath(new URL('../../examples/adoption-page/', import.meta.url))
const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }

/** The adoption page on a site of its own, with a publishable key of a service, and a browser. */
export function useAdoptionPage() {
  const service = useService({}, { bounds: withIndexing })
  const site = { origin: '', apiKey: '' }
  let chromium: TestBrowser | undefined
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/moved/')) return response.writeHead(302, { Location: '/' }).end()
    const { pathname } = new URL(request.url ?? '', 'http://site')
    const path = pathname === '/' ? '/index.html' : pathname
    response.writeHead(200, { 'Content-Type': `${types[extname(path)]}; charset=utf-8` })
    if (path === '/petstore-client.min.js')
      return response.end(
        readFileSync(join(packClient().folder, 'node_modules/@petstore-service/client/dist', path)),
      )
    const text = readFileSync(join(adoptionPageFolder, path), 'utf8')
    response.end(text.replace('http://127.0.0.1:8080', service.base).replace('ps_live_...', site.apiKey))
  })

  before(async () => {
    if (!hasBrowser) return
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    site.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    site.apiKey = (await service.makeKey({ origins: [site.origin], plan: 'business' })).key
    chromium = await useBrowser()
  })
  after(async () => {
    server.closeAllConnections()
    server.close()
    await chromium?.close()
  })

  /** A page that is not loaded yet, and the errors that it will have. */
  async function newPage(t: TestContext, options = {}): Promise<{ page: Page; errors: string[] }> {
    const context = await (chromium as TestBrowser).browser.newContext(options)
    t.after(() => context.close())
    const page = await context.newPage()
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(String(error)))
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    return { page, errors }
  }

  async function open(t: TestContext, options = {}, path = '/') {
    const opened = await newPage(t, options)
    await opened.page.goto(`${site.origin}${path}`)
    return opened
  }

  return { service, site, newPage, open }
}
