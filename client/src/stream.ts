import { onAbort } from './abort.ts'
import { backoffMs } from './clock.ts'
import { ConnectionError, PetstoreError, RateLimitError } from './errors.ts'
import type { Http } from './http.ts'
import { parseJson, toExactText } from './json.ts'
import type { RequestOptions } from './options.ts'
import { unexpectedResponse } from './response.ts'
import type { Event, Int64 } from './schema.ts'

/** A connection of an event stream that is open. */
export type StreamConnection = {
  /** The id of the event after which the stream continues. Undefined if the service has not named it. */
  readonly lastEventId: string | undefined
  /** Ends the connection, if it is certainly lost, such as when the device is offline. The stream connects again. */
  reconnect(): void
}

/** A connection of an event stream that was lost, or could not be opened. */
export type StreamDisconnection = {
  /** Why it could not be opened. Undefined if it was open. */
  readonly error: PetstoreError | undefined
  /** The time until the next attempt. */
  readonly delayMs: number
  /** Ends the wait for the next attempt. */
  reconnect(): void
}

/** The `RequestOptions` are here for compatibility. Pass them as the second argument, as in every method. */
export type StreamOptions = RequestOptions & {
  /** Only events after this id. By default, the stream starts with the next event. */
  after?: Int64 | undefined
  /** Called each time when a connection is open. */
  onConnect?: ((connection: StreamConnection) => void) | undefined
  /**
   * Called before each wait for another connection. It can return another time than `delayMs`. With it, the stream also
   * connects again if its first connection fails.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a callback without a return statement
  onDisconnect?: ((disconnection: StreamDisconnection) => number | undefined | void) | undefined
}

const backoffMinMs = 500
const backoffMaxMs = 30_000
/** A connection that lasts for this long is not a failure, even without an event. */
const stableMs = 10_000

/**
 * Events as they occur. If the connection is lost, the stream resumes after the last event, so that none is missing and
 * none is repeated. It ends when the caller leaves the loop, when the signal is aborted, or with an error that a new
 * connection does not solve, such as `events_expired`.
 */
export async function* streamEvents(
  http: Http,
  { after, onConnect, onDisconnect, ...options }: StreamOptions,
): AsyncGenerator<Event, void, undefined> {
  const signal = http.signalOf(options)
  let position = after === undefined ? undefined : toExactText(after)
  let failures = 0
  // Unless the caller follows the connections, the first one fails like any other request.
  for (let isRepeated = onDisconnect !== undefined; ; isRepeated = true) {
    let body: ReadableStream<Uint8Array> | null = null
    let error: PetstoreError | undefined
    try {
      const { response } = await http.send(
        'listEvents',
        {},
        withPosition(options, position),
        checkContentType,
      )
      body = response.body
      position ??= response.headers.get('last-event-id') ?? undefined
    } catch (thrown) {
      if (!isRepeated || !isTemporary(thrown)) throw thrown
      error = thrown
    }
    const interruption = new AbortController()
    const reconnect = () => interruption.abort()
    const stop = onAbort(signal, reconnect)
    if (signal?.aborted) reconnect()
    try {
      if (body) {
        onConnect?.({ lastEventId: position, reconnect })
        const connectedAt = http.clock.now()
        for await (const text of blocks(body, http.clock.streamIdleTimeoutMs, interruption.signal)) {
          if (http.clock.now() - connectedAt > stableMs) failures = 0
          const { id, data } = fieldsOf(text)
          if (id === undefined || data === undefined) continue
          failures = 0
          yield parseJson(data) as Event
          position = id
        }
      }
      signal?.throwIfAborted()
      const pauseMs = backoffMs(http.clock, failures++, backoffMinMs, backoffMaxMs)
      const delayMs = Math.max(pauseMs, error?.retryAfterMs ?? 0)
      const chosenMs = onDisconnect?.({ error, delayMs, reconnect }) ?? delayMs
      await http.clock.sleep(chosenMs, interruption.signal).catch(() => signal?.throwIfAborted())
    } finally {
      stop()
    }
  }
}

const withPosition = (options: RequestOptions, position: string | undefined): RequestOptions => ({
  ...options,
  headers: {
    ...options.headers,
    Accept: 'text/event-stream',
    ...(position !== undefined && { 'Last-Event-ID': position }),
  },
})

async function checkContentType(response: Response): Promise<void> {
  if (/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) return
  await response.body?.cancel()
  throw unexpectedResponse(response)
}

const isTemporary = (error: unknown): error is PetstoreError =>
  error instanceof RateLimitError ||
  error instanceof ConnectionError ||
  (error instanceof PetstoreError && error.status >= 500)

/** The blocks of a stream of server-sent events. A block ends with an empty line. Ends when the connection does. */
async function* blocks(
  body: ReadableStream<Uint8Array>,
  idleTimeoutMs: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const reader = body.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  const stop = onAbort(signal, cancel)
  const decoder = new TextDecoder()
  let rest = ''
  try {
    while (!signal.aborted) {
      const timer = setTimeout(cancel, idleTimeoutMs)
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return
      const parts = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/)
      rest = parts.pop() as string
      for (const part of parts) {
        if (signal.aborted) return
        yield part
      }
    }
  } catch {
    // The connection was lost. An incomplete block is sent again.
  } finally {
    stop()
    cancel()
  }
}

function fieldsOf(block: string): { id?: string; data?: string } {
  const fields: { id?: string; data?: string } = {}
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ''] = /^(id|data): ?(.*)$/.exec(line) ?? []
    if (name === 'id') fields.id = value
    if (name === 'data') fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`
  }
  return fields
}
