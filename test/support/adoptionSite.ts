import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before } from 'node:test'

/** A web site of another origin than the service. Tests set its page. */
export function useOtherSite() {
  const site = { origin: '', html: '', headers: {} as Record<string, string> }
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', ...site.headers }).end(site.html)
  })
  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    site.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return site
}
