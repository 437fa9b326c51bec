import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '../api/errors.ts'
import { respond } from '../api/operation.ts'
import { newRequestId, type RequestLog } from '../api/requestContext.ts'
import { plainTemplate } from '../api/response.ts'
import { systemClock } from '../clock.ts'
import { lingeringClose } from './lingeringClose.ts'

/** The event of a request whose body turns out not to be HTTP, or does not arrive in time; carries the error. */
export const bodyErrorEvent = 'petstore:bodyError'

const close = { Connection: 'close' }
const timeoutCode = 'ERR_HTTP_REQUEST_TIMEOUT'
/** Not an error of the parser, but a request that only a proxy can serve. */
export const connectCode = 'CONNECT'

/** What Node's parser and its timers refuse, by the code of their error. */
function protocolError(code: string | undefined): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('validation_failed', 'The headers are larger than 16 KiB: send less.', {
        status: 431,
        headers: close,
      })
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError('body_too_large', 'The chunk extensions of the body are too large.', {
        headers: close,
      })
    case timeoutCode:
      return new ApiError(
        'validation_failed',
        'The request did not arrive in time: send the headers within 5 seconds and all of it within 10.',
        { status: 408, headers: close },
      )
    case connectCode:
      return new ApiError('validation_failed', 'CONNECT is not supported: this is not a proxy.', {
        headers: close,
      })
    default:
      return new ApiError('validation_failed', 'The request is not valid HTTP/1.1.', { headers: close })
  }
}

/** The last two responses of a connection, which may not be sent yet. */
type PendingResponses = {
  /** The response to the last request. */
  readonly answer: ServerResponse | undefined
  /** The response to the request before it. */
  readonly answerBefore: ServerResponse | undefined
}

export const isUnanswered = (answer: ServerResponse | undefined): answer is ServerResponse =>
  answer !== undefined && !answer.writableFinished && !answer.destroyed

/** What is refused before it reaches the pipeline. Method and path are empty where they could not be read. */
export type Refused = Pick<RequestLog, 'requestId' | 'isRequestIdGenerated' | 'method' | 'path'> & {
  readonly error: ApiError
  /** What was thrown, where the response is a 5xx. */
  readonly fault?: unknown
}

/**
 * Refuses what cannot be read as HTTP. Requests before it on the same connection get their responses first: they may
 * have changed something. A request whose body is being read gets the error through the pipeline.
 */
export function refuse(
  socket: Socket,
  responses: PendingResponses,
  code: string | undefined,
  onRefused: (refused: Refused) => void,
): void {
  if (socket.destroyed || socket.writableEnded) return
  const { answer: last, answerBefore } = responses
  const isLastWhole = last?.req.complete ?? true
  const pending = isLastWhole ? last : answerBefore
  if (isUnanswered(pending)) {
    // A stream has no end to wait for, and a paused socket does not tell that its client has left.
    if (pending.headersSent && !pending.writableEnded) return void socket.destroy()
    pending.once('close', () => refuse(socket, responses, code, onRefused))
    return
  }
  const error = protocolError(code)
  const unfinished = isLastWhole ? undefined : last
  if (unfinished?.headersSent) return void socket.destroySoon()
  if (unfinished?.req.emit(bodyErrorEvent, error)) return
  const requestId = newRequestId()
  if (!unfinished) onRefused({ requestId, isRequestIdGenerated: true, method: '', path: '', error })
  const text = responseText(error, requestId)
  // A timed-out client is not sending, so a lingering close is unnecessary.
  if (code === timeoutCode) {
    socket.write(text)
    socket.destroySoon()
  } else lingeringClose(socket, text)
}

function responseText({ status, body, headers }: ApiError, requestId: string): string {
  const { letterhead, body: json } = plainTemplate.prepare(respond(status, body, headers))
  const date = new Date(systemClock()).toUTCString()
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${letterhead.text}X-Request-Id: ${requestId}\r\nDate: ${date}\r\n\r\n${json}`
}
