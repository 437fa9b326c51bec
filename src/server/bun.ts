import { setTimeout as pause } from 'node:timers/promises'
import { fromRequest } from '../api/request.ts'
import type { ApiResponse } from '../api/response.ts'
import { toReadableStream } from '../api/streamBody.ts'
import { chain } from '../maybePromise.ts'
import { isPlainTarget } from './nodeAdapter.ts'
import type { Handlers, ListenAddress, RunningServer } from './server.ts'

/** As much of Bun as is used here: its own types would stand in the way of Node's. */
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

/** Bun's engine, as much of it as is used here. */
type Engine = { edenGC(): void }

const idleSeconds = 65
/** Bun would let tens of megabytes come together before it throws anything away. Looking through what is new costs little. */
const requestsPerCollection = 1_024
const stopDeadlineMs = 10_000

export const bun = (globalThis as { Bun?: Bun }).Bun

/** The same service on Bun's own server, which is made for the Fetch standard. */
export async function listenOnBun(
  { serve }: Bun,
  { fetch, direct }: Handlers,
  { host, port }: ListenAddress,
): Promise<RunningServer> {
  // Not by its name, which Node's types do not know.
  const { edenGC }: Engine = await import('bun:jsc' as string)
  let requests = 0
  const server = serve({
    hostname: host,
    port,
    idleTimeout: idleSeconds,
    fetch(request, own) {
      if (++requests % requestsPerCollection === 0) edenGC()
      const incoming = fromRequest(request, own.requestIP(request)?.address ?? '')
      // A stream has heartbeats of its own.
      if (/event-stream/i.test(incoming.header('accept') ?? '')) own.timeout(request, 0)
      if (isPlainTarget(request.method, incoming.target)) return chain(direct(incoming), answerOf)
      return fetch(request, incoming.remoteAddress)
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

/** Bun copies the headers that an answer is made with, so that they can be filled in anew for the next. */
export const answerOf = ({ status, letterhead, said, body, stream }: ApiResponse): Response =>
  new Response(body ?? (stream ? toReadableStream(stream) : null), {
    status,
    headers: letterhead.sharedHeaders(said.headers),
  })
