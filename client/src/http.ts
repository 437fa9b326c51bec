import type { Clock } from './clock.ts'
import { ConnectionError, PetstoreError, RateLimitError, TimeoutError } from './errors.ts'
import { Gate } from './gate.ts'
import { parseJson, toJson } from './json.ts'
import { type Error as ErrorBody, type Operations, operations } from './schema.ts'

export type PetstoreOptions = {
  /** The address of the API, such as `https://pets.example/v1`. */
  baseUrl: string
  apiKey: string
  /** Replaces the global `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** The maximum time of one attempt, including its response body. The default is 30 seconds. */
  timeoutMs?: number
  /** How often a failed request is repeated, if that is safe. The default is 5. */
  maxRetries?: number
  /** Requests at the same time, others wait. The default is 8. More than 50 requires `throttle`. */
  maxConcurrent?: number
  /** The maximum time that a request waits for the rate limit before it fails. The default is two minutes. */
  maxWaitMs?: number
  /** Sends no more than what is left of the rate limit, so that no request is rejected. */
  throttle?: boolean
}

export type RequestOptions = {
  /** Ends the request. It then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
  maxRetries?: number | undefined
  /** More headers, such as `Prefer` or `X-Request-Id`. */
  headers?: Record<string, string> | undefined
}

export type CreateOptions = RequestOptions & {
  /** The default is a new random key for each call. All attempts of a call have the same key. */
  idempotencyKey?: string | undefined
}

export type ChangeOptions = RequestOptions & {
  /** The ETag that the animal must still have. */
  ifMatch?: string | undefined
}

export type OperationId = keyof Operations
export type Input<Id extends OperationId> = {
  [Part in 'params' | 'query' | 'body']?: Operations[Id][Part] | undefined
}
export type Result<T> = { data: T; response: Response }

type AnyOptions = CreateOptions & ChangeOptions
type Read<T> = (response: Response) => Promise<T>

const backoffMinMs = 250
const backoffMaxMs = 10_000
/** The 100th rejected request in a window bans the key. At most this many are in flight when the first is rejected. */
const unthrottledConcurrencyMax = 50

const headersOfResults = new WeakMap<object, Headers>()

/** The response headers of a result, such as `ETag`, `X-Request-Id` or `Preference-Applied`. */
export const headersOf = (result: object): Headers | undefined => headersOfResults.get(result)

/** Sends requests, and repeats them where that is safe. */
export class Http {
  readonly #options: PetstoreOptions
  readonly clock: Clock
  readonly gate: Gate
  readonly #baseUrl: string
  readonly #maxWaitMs: number

  constructor(options: PetstoreOptions, clock: Clock) {
    const { maxConcurrent = 8, maxWaitMs = 120_000, throttle = false } = options
    const concurrencyMax = throttle ? Number.POSITIVE_INFINITY : unthrottledConcurrencyMax
    if (!(maxConcurrent >= 1 && maxConcurrent <= concurrencyMax))
      throw new RangeError(`maxConcurrent must be from 1 to ${concurrencyMax}.`)
    const url = new URL(options.baseUrl, (globalThis as { location?: { href: string } }).location?.href)
    this.#baseUrl = `${url.origin}${url.pathname === '/' ? '/v1' : url.pathname.replace(/\/$/, '')}`
    this.#options = options
    this.#maxWaitMs = maxWaitMs
    this.clock = clock
    this.gate = new Gate({ maxConcurrent, maxWaitMs, throttle }, clock, async () => {
      const [url, init] = this.#request('getLimits', {}, {})
      await this.#attempt(url, init, {}, readJson, (headers) => this.gate.observe(headers))
    })
  }

  async call<Id extends OperationId>(
    id: Id,
    input: Input<Id> = {},
    options: AnyOptions = {},
  ): Promise<Operations[Id]['response']> {
    const { data, response } = await this.send(id, input, options, readJson)
    if (typeof data === 'object' && data !== null) headersOfResults.set(data, response.headers)
    return data as Operations[Id]['response']
  }

  async send<Id extends OperationId, T>(
    id: Id,
    input: Input<Id>,
    options: AnyOptions,
    read: Read<T>,
  ): Promise<Result<T>> {
    const { signal, maxRetries = this.#options.maxRetries ?? 5 } = options
    const [url, init] = this.#request(id, input, options)
    /** The error of an attempt that the service may have processed. */
    let unclear: PetstoreError | undefined
    for (let attempt = 0; ; attempt++) {
      let isSent = false
      try {
        return await this.gate.run(signal, (observe) => {
          isSent = true
          return this.#attempt(url, init, options, read, observe)
        })
      } catch (error) {
        if (!isSent || !(error instanceof PetstoreError)) throw error
        // The earlier attempt has removed it.
        if (unclear && init.method === 'DELETE' && error.status === 404)
          return { data: undefined as T, response: new Response(null, { status: 204 }) }
        // The earlier attempt may have changed the ETag.
        if (unclear && error.status === 412) throw unclear
        if (!isRetryable(error)) throw error
        const delayMs = this.#backoff(attempt, error)
        const isPause = error.status === 429 && error.code !== 'too_many_streams'
        if (isPause) this.gate.pause(delayMs, error)
        if (attempt >= maxRetries || delayMs > this.#maxWaitMs) throw error
        if (error.status === 0 || error.status >= 500) unclear ??= error
        // The gate waits for the end of a pause.
        if (!isPause) await this.clock.sleep(delayMs, signal)
      }
    }
  }

  /** The time before the next attempt: exponential with full jitter, after the time that the service asks for. */
  #backoff(attempt: number, { retryAfterMs = 0, status }: PetstoreError): number {
    const jitterMs = Math.min(backoffMinMs * 2 ** attempt, backoffMaxMs) * this.clock.random()
    return status === 429 && retryAfterMs > 0 ? retryAfterMs : retryAfterMs + jitterMs
  }

  #request(
    id: OperationId,
    { params, query, body }: Input<OperationId>,
    options: AnyOptions,
  ): [url: string, init: RequestInit & { method: string }] {
    const [method, template] = operations[id]
    const values = params as Record<string, unknown> | undefined
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(values?.[name])),
    )
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries(query ?? {}))
      for (const item of [value].flat()) if (item !== undefined) search.append(name, String(item))
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#options.apiKey}` }
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    if (method === 'POST') headers['Idempotency-Key'] = options.idempotencyKey ?? randomKey()
    if (options.ifMatch !== undefined) headers['If-Match'] = options.ifMatch
    return [
      `${this.#baseUrl}${path}${String(search) && `?${search}`}`,
      {
        method,
        headers: { ...headers, ...options.headers },
        ...(body !== undefined && { body: toJson(body) }),
      },
    ]
  }

  async #attempt<T>(
    url: string,
    init: RequestInit,
    { signal, timeoutMs = this.#options.timeoutMs ?? 30_000 }: RequestOptions,
    read: Read<T>,
    observe: (headers: Headers) => void,
  ): Promise<Result<T>> {
    const controller = new AbortController()
    const abort = () => controller.abort()
    const timer = setTimeout(abort, timeoutMs)
    signal?.addEventListener('abort', abort)
    try {
      const response = await (this.#options.fetch ?? fetch)(url, { ...init, signal: controller.signal })
      if (!isAboutAddress(response, url)) observe(response.headers)
      if (response.ok) return { data: await read(response), response }
      throw await errorOf(response)
    } catch (error) {
      if (error instanceof PetstoreError) throw error
      signal?.throwIfAborted()
      throw controller.signal.aborted
        ? new TimeoutError('timeout', `There was no complete response within ${timeoutMs} ms.`)
        : new ConnectionError(
            'connection_failed',
            'The connection failed before the response was complete.',
            {
              cause: error,
            },
          )
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }
}

const readJson = async (response: Response): Promise<unknown> => {
  const text = await response.text()
  return response.status === 204 ? undefined : parseJson(text)
}

/** Whether the rate limit headers describe the address of the client instead of its key. */
const isAboutAddress = ({ status }: Response, url: string): boolean =>
  status === 401 || status === 403 || (status === 429 && url.endsWith('/limits'))

const isRetryable = ({ status, code }: PetstoreError): boolean =>
  status === 0 || status === 408 || status === 429 || status >= 500 || code === 'idempotency_in_progress'

async function errorOf(response: Response): Promise<PetstoreError> {
  const { status, headers } = response
  const text = await response.text()
  let body: Partial<ErrorBody> = {}
  try {
    body = JSON.parse(text)
  } catch {
    // A proxy has sent this response.
  }
  const type = status === 429 ? RateLimitError : PetstoreError
  return new type(
    body.code ?? 'unexpected_response',
    body.message ?? `The response has the status ${status} and no description.`,
    {
      status,
      details: body.details,
      requestId: headers.get('x-request-id') ?? undefined,
      retryAfterMs: retryAfterMs(headers.get('retry-after')),
    },
  )
}

/** Seconds or a date. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return ms >= 0 ? ms : undefined
}

/** `crypto.randomUUID` exists only in secure contexts of a browser. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )
