import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

type Page = Buffer | ((response: ServerResponse) => void)

/** A web server with the photos of another system. `requests` has the paths of all requests. */
export async function photoServer(t: Pick<TestContext, 'after'>, pages: Record<string, Page>) {
  const requests: string[] = []
  const server = createServer(({ url = '' }, response) => {
    requests.push(url)
    const page = pages[url]
    if (typeof page === 'function') page(response)
    else response.writeHead(page ? 200 : 404).end(page)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, pages }
}

export const redirect = (location: string) => (response: ServerResponse) =>
  void response.writeHead(302, { location }).end()

/** A file of these rows, and what imports it with its photos. */
export const csv = (...rows: string[]) => rows.map((row) => `${row}\n`).join('')
export const importPhotos = ['import', '--format', 'csv', '--create-categories', '--photos']
export const photoHeader = 'Animal ID,Name,Species,Photo 1,Photo 2,Photo 3'
/** The counts of an import without photos. */
export const noPhotos = { added: 0, unchanged: 0, removed: 0, failed: 0 }

export const importFromFolder = (folder: string) => [
  'import',
  '--format',
  'csv',
  '--create-categories',
  '--photos-from',
  folder,
]
