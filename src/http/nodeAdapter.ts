import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from './errors.ts'
import type { Handlers } from './listener.ts'
import { sayKeptAlive } from './nodeDirect.ts'
import { endWithCaller } from './nodeStream.ts'

type Adapter = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>

/** HTTP/1.0 knows no Host header; nothing here depends on it. */
const hostUnlessGiven = 'localhost'

/** The long way into the service, by requests and answers of the Fetch standard. Loaded when somebody takes it. */
export function nodeAdapter(fetch: Handlers['fetch']): Adapter {
  let adapter: Promise<Adapter> | undefined
  const open = async (): Promise<Adapter> => {
    const { getRequestListener } = await import('@hono/node-server')
    return getRequestListener(
      async (request, { incoming, outgoing }) => {
        const response = await fetch(request, incoming.socket.remoteAddress ?? '')
        if (isEventStream(response)) endWithCaller(incoming.socket, outgoing as ServerResponse)
        return response
      },
      { errorHandler: badRequest, hostname: hostUnlessGiven },
    )
  }
  return async (incoming, outgoing) => {
    // The adapter refuses a backslash, but it is only a path that leads nowhere.
    incoming.url = incoming.url?.replaceAll('\\', '%5C')
    sayKeptAlive(outgoing)
    adapter ??= open()
    return (await adapter)(incoming, outgoing)
  }
}

const isEventStream = ({ headers }: Response) =>
  headers.get('content-type')?.startsWith('text/event-stream') ?? false

/** A request that HTTP lets through but that is no URL: a broken Host header, a path without a slash. */
function badRequest(): Response {
  const { body, status } = new ApiError(
    'validation_failed',
    'The Host header or the address of the request is not valid.',
  )
  return Response.json(body, { status })
}
