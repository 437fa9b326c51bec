import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '../api/errors.ts'
import { respond } from '../api/operation.ts'
import { givenRequestId, newRequestId } from '../api/requestContext.ts'
import { plainTemplate, toResponse } from '../api/response.ts'
import { lingeringClose } from './lingeringClose.ts'
import { closesBeforeRequestEnd, expectsContinue, sayKeptAlive } from './nodeAdapter.ts'
import { destroyOnClientEnd } from './nodeStream.ts'
import type { Refused } from './protocolErrors.ts'
import type { Handlers } from './server.ts'

type Adapter = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>

/** HTTP/1.0 knows no Host header; nothing here depends on it. */
const hostUnlessGiven = 'localhost'

/** The long way into the service, by requests and answers of the Fetch standard. Loaded when somebody takes it. */
export function nodeAdapter(
  fetch: Handlers['fetch'],
  onRefused: (socket: Socket, refused: Refused) => void,
): Adapter {
  /** The Error body of a request that does not reach the pipeline. */
  function refusal(incoming: IncomingMessage, error: ApiError, fault?: unknown): Response {
    const { method = '', url = '', headers, socket } = incoming
    const given = givenRequestId(headers['x-request-id'] as string | undefined)
    const requestId = given ?? newRequestId()
    const [path = ''] = url.split('?', 1)
    onRefused(socket, { requestId, isRequestIdGenerated: given === undefined, method, path, error, fault })
    const ready = plainTemplate.prepare(respond(error.status, error.body, error.headers))
    return toResponse({ ...ready, said: { headers: { 'X-Request-Id': requestId }, lines: '' } })
  }

  return async (incoming, outgoing) => {
    const { getRequestListener, RequestError, RESPONSE_ALREADY_SENT } = await load()
    // The adapter refuses a backslash, but it is only a path that leads nowhere.
    incoming.url = incoming.url?.replaceAll('\\', '%5C')
    // When the body is first asked for cannot be seen from here.
    if (expectsContinue(incoming)) outgoing.writeContinue()
    sayKeptAlive(outgoing)
    const isHostMissing = incoming.headers.host === undefined && incoming.httpVersion === '1.1'
    const listener = getRequestListener(
      async (request) => {
        if (isHostMissing) return refusal(incoming, badRequest())
        const response = await fetch(request, incoming.socket.remoteAddress ?? '')
        if (isEventStream(response)) destroyOnClientEnd(incoming.socket, outgoing)
        if (!closesBeforeRequestEnd(outgoing, response.headers.get('connection'))) return response
        await sendAndLinger(response, outgoing)
        return RESPONSE_ALREADY_SENT
      },
      {
        errorHandler: (error) =>
          error instanceof RequestError
            ? refusal(incoming, badRequest())
            : refusal(incoming, new ApiError('internal_error'), error),
        hostname: hostUnlessGiven,
      },
    )
    return listener(incoming, outgoing)
  }
}

/** Both together: the second has to be loaded before the first is used, which replaces the global Response. */
async function load() {
  const [adapter, response] = await Promise.all([
    import('@hono/node-server'),
    import('@hono/node-server/utils/response'),
  ])
  return { ...adapter, ...response }
}

async function sendAndLinger(response: Response, outgoing: ServerResponse): Promise<void> {
  const body = await response.text()
  outgoing.removeHeader('Keep-Alive')
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.write(body)
  lingeringClose(outgoing.req.socket)
}

const isEventStream = ({ headers }: Response) =>
  headers.get('content-type')?.startsWith('text/event-stream') ?? false

/** A request that HTTP lets through but that is no URL: a broken Host header, a path without a slash. */
const badRequest = () =>
  new ApiError('validation_failed', 'The Host header or the address of the request is not valid.')
