import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Api } from './app.ts'
import type { Incoming } from './incoming.ts'

/** The API straight on Node's own requests and answers: making a Request and a Response would cost as much as the rest. */

const plainTarget = /^\/v1\/[\w/~-]*(?:\?[\w.~=&%:,+-]*)?$/
const probeTarget = /^\/(?:healthz|readyz)$/
const plainHost = /^[\w.:[\]-]+$/

/**
 * Whether a request needs nothing that the Fetch standard does: an address that is what it looks like, and an answer
 * that is no stream. All others go the long way, so that there is one place that knows about odd addresses.
 */
export function isPlain({ method, url = '', headers }: IncomingMessage): boolean {
  return (
    isPlainTarget(method, url) &&
    plainHost.test(headers.host ?? '') &&
    !/event-stream/i.test(headers.accept ?? '')
  )
}

export const isPlainTarget = (method: string | undefined, target: string): boolean =>
  plainTarget.test(target) || (probeTarget.test(target) && (method === 'GET' || method === 'HEAD'))

export async function serveDirectly(
  direct: Api,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { headers } = message
  const incoming: Incoming = {
    method: message.method as string,
    target: message.url as string,
    remoteAddress: message.socket.remoteAddress ?? '',
    header(name) {
      const value = headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    async body(bytesMax) {
      const length = headers['content-length']
      if (length === undefined && headers['transfer-encoding'] === undefined) return new Uint8Array()
      if (Number(length ?? 0) > bytesMax) return undefined
      return collect(message, bytesMax)
    },
  }
  const { status, headers: answered, body } = await direct(incoming)
  if (body === undefined) {
    response.writeHead(status, answered).end()
    return
  }
  const length = Buffer.byteLength(body)
  answered['Content-Length'] = String(length)
  // A text of ASCII alone is sent as it is, in one piece with its headers.
  response.writeHead(status, answered).end(body, length === body.length ? 'latin1' : 'utf8')
}

/** Reads no further than it takes to know that there is too much: the rest goes with the connection. */
function collect(message: IncomingMessage, bytesMax: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytesMax) {
        message.pause()
        resolve(undefined)
      } else chunks.push(chunk)
    })
    message.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
    message.on('error', reject)
    message.on('close', () => reject(new Error('The body broke off.')))
  })
}
