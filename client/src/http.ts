import { onAbort } from './abort.ts'
import { checkApiKey, checkedAddress, checkNumbers, pathSegment } from './check.ts'
import { backoffMs, type Clock, jitteredMs, timerMaxMs } from './clock.ts'
import { contentOf } from './content.ts'
import { ConnectionError, PetstoreError, reasonOf, TimeoutError } from './errors.ts'
import { toExactText } from './json.ts'
import type { ChangeOptions, CreateOptions, PetstoreOptions, RequestOptions } from './options.ts'
import { errorOf, isRetryableStatus, readBlob, readJson } from './response.ts'
import { RequestScheduler } from './scheduler.ts'
import { type Operations, operations } from './schema.ts'
import { randomKey } from './submission.ts'

export type OperationId = keyof Operations
export type Input<Id extends OperationId> = {
  [Part in 'params' | 'query' | 'body']?: Operations[Id][Part] | undefined
}
export type Result<T> = { data: T; response: Response }

type AnyOptions = CreateOptions &
  ChangeOptions & {
    /** The media type of a body that is not JSON. The default is the type of the Blob. */
    contentType?: string | undefined
  }
type PreparedRequest = { id: OperationId; url: string; init: RequestInit }
type Read<T> = (response: Response) => Promise<T>

const backoffMinMs = 250
const backoffMaxMs = 10_000
/** The 100th rejected request in a window bans the key. At most this many are in flight when the first is rejected. */
const unthrottledConcurrencyMax = 50

/** An operation that removes a resource, and the code that says that there is none, such as `deletePet pet_not_found`. */
const removal = /^(?:delete|removePet)(\w+) \1_not_found$/i

const headersOfResults = new WeakMap<object, Headers>()

/**
 * The response headers of a result, such as `ETag`, `X-Request-Id` or `Preference-Applied`. A result is what a method
 * returned, or the `items` of a page. For another object, such as one of the items, it throws a `TypeError`.
 */
export function headersOf(result: object): Headers {
  const headers = headersOfResults.get(result)
  if (!headers) throw new TypeError('headersOf requires the result of a method.')
  return headers
}

/** Sends requests, and repeats them where that is safe. */
export class Http {
  readonly #options: PetstoreOptions
  declare readonly clock: Clock
  declare readonly scheduler: RequestScheduler
  readonly #baseUrl: string
  readonly #maxWaitMs: number

  constructor(options: PetstoreOptions, clock: Clock) {
    const { maxConcurrent = 8, maxWaitMs = 120_000, throttle = false } = options ?? {}
    this.#baseUrl = checkedAddress(options?.baseUrl)
    checkApiKey(options.apiKey)
    checkNumbers({ maxWaitMs, timeoutMs: options.timeoutMs, maxRetries: options.maxRetries })
    const concurrencyMax = throttle ? Number.POSITIVE_INFINITY : unthrottledConcurrencyMax
    if (!(maxConcurrent >= 1 && maxConcurrent <= concurrencyMax))
      throw new RangeError(`maxConcurrent must be from 1 to ${concurrencyMax}.`)
    this.#options = options
    this.#maxWaitMs = maxWaitMs
    this.clock = clock
    this.scheduler = new RequestScheduler({ maxConcurrent, maxWaitMs, throttle }, clock, async () => {
      const options = { signal: this.signalOf({}) }
      await this.#attempt(this.#prepare('getLimits', {}, {}), options, readJson, (headers) =>
        this.scheduler.observe(headers),
      )
    })
  }

  async call<Id extends OperationId>(
    id: Id,
    input: Input<Id>,
    options: AnyOptions = {},
    read: Read<unknown> = readerOf(id),
  ): Promise<Operations[Id]['response']> {
    const { data, response } = await this.send(id, input, options, read)
    if (typeof data === 'object' && data !== null) headersOfResults.set(data, response.headers)
    return data as Operations[Id]['response']
  }

  async send<Id extends OperationId, T>(
    id: Id,
    input: Input<Id>,
    options: AnyOptions,
    read: Read<T>,
  ): Promise<Result<T>> {
    const { submission } = options
    try {
      const all = { ...options, signal: this.signalOf(options) }
      const result = await this.#sendWithRetries(id, input, all, read)
      submission?.settle()
      return result
    } catch (error) {
      if (error instanceof PetstoreError && isProcessed(error)) submission?.settle()
      throw error
    }
  }

  /** What ends a request: its own signal, and that of the client. */
  signalOf({ signal, keepalive }: RequestOptions): AbortSignal | undefined {
    const shared = keepalive ? undefined : this.#options.signal
    return signal && shared ? AbortSignal.any([signal, shared]) : (signal ?? shared)
  }

  async #sendWithRetries<Id extends OperationId, T>(
    id: Id,
    input: Input<Id>,
    options: AnyOptions,
    read: Read<T>,
  ): Promise<Result<T>> {
    const { signal, timeoutMs, maxRetries = this.#options.maxRetries ?? 5 } = options
    checkNumbers({ timeoutMs, maxRetries })
    const request = this.#prepare(id, input, options)
    const isExempt = id === 'getLimits'
    /** The error of an attempt that the service may have processed. */
    let unknownOutcome: PetstoreError | undefined
    for (let attempt = 0; ; attempt++) {
      let isSent = false
      const send = (observe: (headers: Headers) => void) => {
        isSent = true
        return this.#attempt(request, options, read, observe)
      }
      try {
        return await (isExempt ? this.scheduler.runExempt(signal, send) : this.scheduler.run(signal, send))
      } catch (error) {
        if (!isSent || !(error instanceof PetstoreError)) throw error
        if (error.status === 401) this.#options.onKeyRejected?.(error)
        // The earlier attempt has removed it.
        if (unknownOutcome && removal.test(`${id} ${error.code}`))
          return { data: undefined as T, response: new Response(null, { status: 204 }) }
        // The earlier attempt may have changed the ETag.
        if (unknownOutcome && error.status === 412) throw unknownOutcome
        if (!isRetryable(error)) throw error
        const delayMs = this.#delayMs(attempt, error)
        const isLimit = error.status === 429 && error.code !== 'too_many_streams' && !isExempt
        const isPause = isLimit && this.#options.pauseOnRateLimit !== false
        if (isPause) this.scheduler.pause(error.retryAfterMs ?? 0, delayMs, error)
        // If an abort cuts off the body of an error, the error has only its status.
        signal?.throwIfAborted()
        if (attempt >= maxRetries || delayMs > this.#maxWaitMs) throw error
        if (error instanceof ConnectionError || error.status >= 500) unknownOutcome ??= error
        // The scheduler waits for the end of a pause.
        if (!isPause) await this.clock.sleep(delayMs, signal)
      }
    }
  }

  /** The time before the next attempt: the one that the service names, and a random time. */
  #delayMs(attempt: number, { retryAfterMs = 0, status }: PetstoreError): number {
    if (status === 429 && retryAfterMs > 0) return jitteredMs(this.clock, retryAfterMs, this.#maxWaitMs)
    return retryAfterMs + backoffMs(this.clock, attempt, backoffMinMs, backoffMaxMs)
  }

  #prepare(
    id: OperationId,
    { params, query, body }: Input<OperationId>,
    options: AnyOptions,
  ): PreparedRequest {
    const [method, template] = operations[id]
    const values = params as Record<string, unknown> | undefined
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => pathSegment(name, values?.[name]))
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries(query ?? {})) {
      if (Array.isArray(value) && value.length === 0)
        throw new RangeError(`${name} is empty. Without it, the list would not be filtered.`)
      for (const item of [value].flat()) if (item !== undefined) search.append(name, toExactText(item))
    }
    const headers = new Headers({ Authorization: `Bearer ${this.#options.apiKey}` })
    const content = contentOf(body, options.contentType)
    if (content) headers.set('Content-Type', content.type)
    const url = `${this.#baseUrl}${path}${String(search) && `?${search}`}`
    const { idempotencyKey, submission, ifMatch, keepalive = false } = options
    if (method === 'POST')
      headers.set(
        'Idempotency-Key',
        idempotencyKey ?? submission?.keyFor(`${url} ${content?.text}`) ?? randomKey(),
      )
    if (typeof ifMatch === 'string') headers.set('If-Match', ifMatch)
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value)
    return {
      id,
      url,
      init: { method, headers, keepalive, redirect: 'manual', ...(content && { body: content.body }) },
    }
  }

  async #attempt<T>(
    { id, url, init }: PreparedRequest,
    { signal, timeoutMs = this.#options.timeoutMs ?? 30_000 }: RequestOptions,
    read: Read<T>,
    observe: (headers: Headers) => void,
  ): Promise<Result<T>> {
    signal?.throwIfAborted()
    const controller = new AbortController()
    const abort = () => controller.abort()
    const timer = setTimeout(abort, Math.min(timeoutMs, timerMaxMs))
    const stop = onAbort(signal, abort)
    try {
      const response = await (this.#options.fetch ?? fetch)(url, { ...init, signal: controller.signal })
      if (response.ok) {
        observe(response.headers)
        return { data: await read(response), response }
      }
      const error = await errorOf(response)
      if (!isAboutAddress(id, error)) observe(response.headers)
      throw error
    } catch (error) {
      if (error instanceof PetstoreError) throw error
      signal?.throwIfAborted()
      const what = `No complete response from ${new URL(url).origin}`
      throw controller.signal.aborted
        ? new TimeoutError('timeout', `${what} within ${timeoutMs} ms.`)
        : new ConnectionError('connection_failed', `${what}: ${reasonOf(error)}`, { cause: error })
    } finally {
      clearTimeout(timer)
      stop()
    }
  }
}

/** JSON, or what the description of the operation names. */
function readerOf(id: OperationId): Read<unknown> {
  const [, , ...types]: readonly string[] = operations[id]
  return types.length === 0 ? readJson : (response) => readBlob(response, types)
}

/** Whether the rate limit headers of an error describe the address of the client instead of its key. */
const isAboutAddress = (id: OperationId, { status, code }: PetstoreError): boolean =>
  status === 401 || code === 'origin_not_allowed' || (status === 429 && id === 'getLimits')

/**
 * Whether the service has processed the request and rejected the change. An error before that says nothing about an
 * earlier request of the same submission.
 */
const isProcessed = ({ status, code }: PetstoreError): boolean =>
  status >= 400 &&
  status < 500 &&
  ![401, 403, 408, 429].includes(status) &&
  code !== 'idempotency_in_progress'

const isRetryable = (error: PetstoreError): boolean =>
  error instanceof ConnectionError ||
  isRetryableStatus(error.status) ||
  error.code === 'idempotency_in_progress'
