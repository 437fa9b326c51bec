import { PetstoreError, RateLimitError } from './errors.ts'
import type { Http, RequestOptions } from './http.ts'
import { parseJson } from './json.ts'
import type { Event, Int64 } from './schema.ts'

export type StreamOptions = RequestOptions & {
  /** Only events after this id. By default, the stream starts with the next event. */
  after?: Int64 | undefined
}

const backoffMinMs = 500
const backoffMaxMs = 30_000

/**
 * Events as they occur. If the connection is lost, the stream resumes after the last event, so that none is missing and
 * none is repeated. It ends when the caller leaves the loop, when the signal is aborted, or with an error that a new
 * connection does not solve, such as `events_expired`.
 */
export async function* streamEvents(
  http: Http,
  { after, ...options }: StreamOptions,
): AsyncGenerator<Event, void, undefined> {
  let position = after === undefined ? undefined : String(after)
  let failures = 0
  for (let isResumed = false; ; isResumed = true) {
    let body: ReadableStream<Uint8Array> | null = null
    try {
      const { response } = await http.send('listEvents', {}, withPosition(options, position), async () => {})
      body = response.body
      position ??= response.headers.get('last-event-id') ?? undefined
    } catch (error) {
      // The first connection fails like any other request.
      if (!isResumed || !isTemporary(error)) throw error
    }
    if (body) {
      for await (const text of blocks(body, http.clock.streamSilenceMs, options.signal)) {
        failures = 0
        const { id, data } = fieldsOf(text)
        if (id === undefined || data === undefined) continue
        yield parseJson(data) as Event
        position = id
      }
    }
    options.signal?.throwIfAborted()
    const delayMs = Math.min(backoffMinMs * 2 ** failures++, backoffMaxMs) * http.clock.random()
    await http.clock.sleep(delayMs, options.signal)
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

const isTemporary = (error: unknown): boolean =>
  error instanceof RateLimitError ||
  (error instanceof PetstoreError && (error.status === 0 || error.status >= 500))

/** The blocks of a stream of server-sent events, which end with an empty line. It ends with the connection. */
async function* blocks(
  body: ReadableStream<Uint8Array>,
  silenceMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const reader = body.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  signal?.addEventListener('abort', cancel)
  const decoder = new TextDecoder()
  let rest = ''
  try {
    while (!signal?.aborted) {
      const timer = setTimeout(cancel, silenceMs)
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = parts.pop() as string
      yield* parts
    }
  } catch {
    // The connection was lost. An incomplete block is sent again.
  } finally {
    signal?.removeEventListener('abort', cancel)
    cancel()
  }
}

function fieldsOf(block: string): { id?: string; data?: string } {
  return Object.fromEntries(
    block
      .split('\n')
      .filter((line) => /^(id|data):/.test(line))
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trimStart()]),
  )
}
