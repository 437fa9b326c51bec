import { once } from 'node:events'
import { connect, constants } from 'node:http2'
import { Agent, request as httpsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import type { Caddy } from './caddy.ts'

type Headers = Record<string, string | string[] | number | undefined>

type SentRequest = {
  key?: string
  headers?: Record<string, string>
  body?: Uint8Array
  /** The address of the client. */
  from?: string
}

type OpenResponse = {
  readonly status: number
  readonly headers: Headers
  readonly body: Readable
  close(): void
}

/** Sends a request over a connection of its own, and returns when the headers of the response have arrived. */
export type Open = (caddy: Caddy, method: string, path: string, sent?: SentRequest) => Promise<OpenResponse>

const headersOf = ({ key, headers, body }: SentRequest) => ({
  ...(key !== undefined && { authorization: `Bearer ${key}` }),
  ...(body && { 'content-length': String(body.length) }),
  ...headers,
})

const overHttp1: Open = async ({ base, authority }, method, path, sent = {}) => {
  const agent = new Agent({ ca: authority, ...(sent.from !== undefined && { localAddress: sent.from }) })
  const { hostname, port } = new URL(base)
  const outgoing = httpsRequest({ hostname, port, path, method, agent, headers: headersOf(sent) })
  outgoing.end(sent.body)
  const [incoming] = await once(outgoing, 'response')
  // A rejected body is not read to its end, and the connection is closed.
  outgoing.on('error', () => {})
  const close = () => outgoing.destroy()
  return { status: incoming.statusCode, headers: incoming.headers, body: incoming, close }
}

/**
 * Megabytes. What waits to be sent counts, too: with the default of 10, Node does not accept the headers of a response that
 * arrives before enough of a large body has been sent.
 */
const maxSessionMemory = 100

const overHttp2: Open = async ({ base, authority }, method, path, sent = {}) => {
  const session = connect(base, {
    ca: authority,
    maxSessionMemory,
    ...(sent.from !== undefined && { localAddress: sent.from }),
  })
  const stream = session.request({ ':method': method, ':path': path, ...headersOf(sent) })
  stream.end(sent.body)
  stream.once('close', () => session.close())
  const [headers] = await once(stream, 'response')
  return {
    status: headers[':status'],
    headers,
    body: stream,
    close: () => stream.close(constants.NGHTTP2_CANCEL),
  }
}

export const protocols: readonly { name: string; open: Open }[] = [
  { name: 'HTTP/1.1', open: overHttp1 },
  { name: 'HTTP/2', open: overHttp2 },
]

/** Sends a request and receives the whole response. */
export async function send(open: Open, ...request: Parameters<Open>) {
  const { status, headers, body } = await open(...request)
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  const isJson = /json/.test(String(headers['content-type'])) && text !== ''
  return { status, headers, text, json: isJson ? JSON.parse(text) : undefined }
}
