import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'

export type ClientResponse = {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The parsed body; undefined if it is empty. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape.
  json: any
}

export type RequestOptions = {
  key?: string | undefined
  headers?: Record<string, string | string[]>
  /** An object is sent as JSON, text and bytes unchanged. */
  body?: unknown
  /** Ends the request without a response. */
  signal?: AbortSignal
}

export type Client = {
  request(method: string, path: string, options?: RequestOptions): Promise<ClientResponse>
  closeConnections(): void
}

/** An HTTP client that adds nothing to the request. */
export function createClient(base: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const { hostname, port } = new URL(base)

  function request(
    method: string,
    path: string,
    { key, headers = {}, body, signal }: RequestOptions = {},
  ): Promise<ClientResponse> {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const bytes =
      body === undefined ? undefined : Buffer.from(isRaw ? (body as string) : JSON.stringify(body))
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(
        {
          agent,
          hostname,
          port,
          method,
          path,
          ...(signal && { signal }),
          headers: {
            ...(key !== undefined && { authorization: `Bearer ${key}` }),
            ...(bytes && { 'content-length': String(bytes.length) }),
            ...(bytes && !isRaw && { 'content-type': 'application/json' }),
            ...headers,
          },
        },
        (incoming) => {
          const chunks: Buffer[] = []
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
          incoming.on('error', reject)
          incoming.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8')
            const { 'content-type': type = '', 'content-encoding': encoding } = incoming.headers
            const isJson = /json/.test(type) && encoding === undefined
            const json = isJson && text !== '' ? JSON.parse(text) : undefined
            resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json })
          })
        },
      )
      outgoing.on('error', reject)
      outgoing.end(bytes)
    })
  }

  return { request, closeConnections: () => agent.destroy() }
}
