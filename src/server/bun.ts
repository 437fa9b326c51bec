import { setTimeout as pause } from 'node:timers/promises'
import type { ApiRequest, BodyLimits } from '../api/request.ts'
import type { ApiResponse, HeaderBlock } from '../api/response.ts'
import type { StreamBody, StreamEvents } from '../api/streamBody.ts'
import { chain } from '../maybePromise.ts'
import { arrivingInTime } from './bodyTimer.ts'
import { hasUnambiguousLength } from './protocolErrors.ts'
import type { Handlers, ListenAddress, RunningServer } from './server.ts'

/** The part of Bun that is used here: its type package conflicts with Node's. */
type BunServer = {
  readonly port: number
  requestIP(request: Request): { address: string } | null
  timeout(request: Request, seconds: number): void
  stop(closeActiveConnections: boolean): Promise<void>
}
type Bun = {
  serve(options: {
    hostname: string
    port: number
    idleTimeout: number
    fetch(request: Request, server: BunServer): Response | Promise<Response>
  }): BunServer
}

/** The garbage collector of JavaScriptCore, a documented module of Bun. */
type BunJsc = { edenGC(): void }

/** Bun collects so rarely that memory would grow by 10 MB; see docs/performance.md. */
const requestsPerCollection = 512
const idleSeconds = 65
const stopDeadlineMs = 10_000
/** The default of Node's sockets. */
const streamBufferBytes = 64 * 1024

export const bun = (globalThis as { Bun?: Bun }).Bun

export async function listenOnBun(
  { serve }: Bun,
  { handle }: Handlers,
  { host, port }: ListenAddress,
): Promise<RunningServer> {
  // Not a literal, because the types of Node do not know the module.
  const { edenGC }: BunJsc = await import('bun:jsc' as string)
  let requests = 0
  const server = serve({
    hostname: host,
    port,
    idleTimeout: idleSeconds,
    fetch(request, self) {
      if (++requests % requestsPerCollection === 0) edenGC()
      const received = fromRequest(request, self.requestIP(request)?.address ?? '')
      return chain(handle(received), (response) => {
        // A stream sends heartbeats.
        if (response.stream) self.timeout(request, 0)
        return toResponse(response)
      })
    },
  })
  return {
    port: server.port,
    async stop() {
      await Promise.race([server.stop(false), pause(stopDeadlineMs)])
      await server.stop(true)
    },
  }
}

function fromRequest(request: Request, remoteAddress: string): ApiRequest {
  const { url, headers } = request
  const start = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.indexOf('#', start)
  // Bun does not say which version of HTTP a request has.
  const problem = hasUnambiguousLength(headers.get('transfer-encoding') ?? undefined)
    ? undefined
    : 'invalid_http'
  return {
    problem,
    method: request.method,
    target: end === -1 ? url.slice(start) : url.slice(start, end),
    remoteAddress,
    get isDisconnected() {
      return request.signal.aborted
    },
    header: (name) => headers.get(name) ?? undefined,
    async body(limits) {
      // The announced length was checked.
      const isWhole = headers.has('content-length') && !limits.time
      return isWhole || request.body === null
        ? new Uint8Array(await request.arrayBuffer())
        : collectBody(request.body, limits)
    },
  }
}

export function toResponse({ status, headers, body, stream }: ApiResponse): Response {
  // A view of a Buffer is a valid body; the type of a Buffer is wider.
  const content = body as string | Uint8Array<ArrayBuffer> | undefined
  return new Response(content ?? (stream ? toReadableStream(stream) : null), {
    status,
    headers: toHeaders(headers),
  })
}

/** The last headers, by the number of names. Bounded, because no response has many names. */
const lastHeaders = new Map<number, { readonly headers: Headers; readonly block: HeaderBlock }>()

/** A response copies its headers, so the next one with the same names uses the same object: most values are the same. */
function toHeaders(block: HeaderBlock): Headers {
  const last = lastHeaders.get(block.length)
  const isReused = last !== undefined && haveSameNames(block, last.block)
  const headers = isReused ? last.headers : new Headers()
  // If a value cannot be set, the object has values of two responses and is not used again.
  lastHeaders.delete(block.length)
  for (let index = 0; index < block.length; index += 2)
    if (!isReused || block[index + 1] !== last.block[index + 1])
      headers.set(block[index] as string, block[index + 1] as string)
  lastHeaders.set(block.length, { headers, block })
  return headers
}

function haveSameNames(block: HeaderBlock, other: HeaderBlock): boolean {
  for (let index = 0; index < block.length; index += 2) if (block[index] !== other[index]) return false
  return true
}

function toReadableStream(body: StreamBody): ReadableStream<Uint8Array> {
  let events: StreamEvents
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        events = body.start({
          write({ bytes }) {
            controller.enqueue(bytes)
            return (controller.desiredSize ?? 0) > 0
          },
          end({ bytes }) {
            controller.enqueue(bytes)
            controller.close()
          },
        })
      },
      pull: () => events.onDrain(),
      cancel: () => events.onClose(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: streamBufferBytes }),
  )
}

/** Reads a body. Stops reading and returns undefined once it is larger than `bytesMax`. */
function collectBody(chunks: AsyncIterable<Uint8Array>, { bytesMax, time }: BodyLimits) {
  const collected: Uint8Array[] = []
  let bytes = 0
  const collect = async () => {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > bytesMax) return undefined
      collected.push(chunk)
    }
    return collected.length === 1 ? collected[0] : Buffer.concat(collected)
  }
  return time ? arrivingInTime(collect(), time, () => bytes) : collect()
}
