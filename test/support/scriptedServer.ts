import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { Petstore, type PetstoreOptions } from '../../client/src/index.ts'

type Respond = (request: IncomingMessage, response: ServerResponse) => void

/** A server that a test scripts, and a client of it. `requests` has the method and path of every request. */
export async function startScriptedServer(t: Pick<TestContext, 'after'>, respond: Respond) {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    request.resume().on('end', () => respond(request, response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clock = instantClock()
  const storeWith = (options: Partial<PetstoreOptions> = {}, ownClock: object = clock) =>
    new Petstore({ baseUrl, apiKey: 'a-key', ...options }, ownClock)
  return { baseUrl, requests, clock, storeWith }
}

/** A clock whose time moves only by sleeping. `sleeps` has the milliseconds of every sleep. */
export function instantClock() {
  let time = 0
  const sleeps: number[] = []
  return {
    sleeps,
    now: () => time,
    advance: (ms: number) => {
      time += ms
    },
    sleep: async (ms: number, signal: AbortSignal | undefined) => {
      signal?.throwIfAborted()
      sleeps.push(ms)
      time += ms
    },
    random: () => 1,
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export const sendError = (
  response: ServerResponse,
  status: number,
  code: string,
  headers: Record<string, string> = {},
): void => sendJson(response, status, { code, message: 'An error of the test.', status }, headers)

/** The header of a key with this many requests left in its minute. */
export const rateLimitHeader = (remaining: number) => ({
  ratelimit: `"minute";r=${remaining};t=60, "day";r=900;t=86400`,
})
