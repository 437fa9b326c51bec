/** A request as the API sees it, whichever server took it. */
export type ApiRequest = {
  readonly method: string
  /** Path and query, as they were sent. */
  readonly target: string
  readonly remoteAddress: string
  /** By its name in lower case. */
  header(name: string): string | undefined
  /** The bytes of the body; nothing where there are more than so many. Throws where it breaks off. */
  body(bytesMax: number): Promise<Uint8Array | undefined>
}

/** A request of the Fetch standard, which every runtime has. */
export function fromRequest(request: Request, remoteAddress: string): ApiRequest {
  const { url, headers } = request
  const start = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.indexOf('#', start)
  return {
    method: request.method,
    target: end === -1 ? url.slice(start) : url.slice(start, end),
    remoteAddress,
    header: (name) => headers.get(name) ?? undefined,
    async body(bytesMax) {
      const length = request.headers.get('content-length')
      if (length !== null) {
        return Number(length) > bytesMax ? undefined : new Uint8Array(await request.arrayBuffer())
      }
      return request.body === null ? new Uint8Array() : collect(request.body, bytesMax)
    },
  }
}

/** Reads no further than it takes to know that there is too much. */
async function collect(chunks: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array | undefined> {
  const collected: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > bytesMax) return undefined
    collected.push(chunk)
  }
  return collected.length === 1 ? collected[0] : Buffer.concat(collected)
}
