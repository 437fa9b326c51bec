import { signal } from '@preact/signals'
import { authorization, currentApiKey, failure, fetchOrFail } from './client.ts'
import { now } from './clock.ts'
import { isAbort, RequestError, toRequestError } from './errors.ts'
import { parseJson } from './json.ts'
import type { StoreEvent } from './types.ts'

/**
 * The event stream of this tab. All screens share it. It resumes after the last event that it received, so no change is
 * missed while it reconnects.
 */

/**
 * `off`: the key cannot read events. `rejected`: the API does not open a stream, `streamError` says why. `limited`: the key
 * has all its streams open, in other tabs or programs.
 */
export type StreamState = 'off' | 'connecting' | 'live' | 'reconnecting' | 'limited' | 'rejected'

export const streamState = signal<StreamState>('off')
export const streamError = signal<RequestError | undefined>(undefined)

/** The service sends something every 15 seconds. */
const silenceMaxMs = 40_000
const delayMinMs = 500
const delayMaxMs = 30_000
/** Another tab may have been closed by then. Each attempt counts against the rate limit. */
const limitedDelayMs = 3 * 60_000
/** How long a screen waits for the stream before it loads its data. */
const readyMaxMs = 1_500

type Listener = (event: StoreEvent) => void
const listeners = new Set<Listener>()
const resyncListeners = new Set<() => void>()

let controller: AbortController | undefined
let lastEventId: string | undefined
let wake: (() => void) | undefined
let endAttempt: () => void = () => {}
let markReady: () => void = () => {}
let ready: Promise<void> = Promise.resolve()
/** Data was loaded while the stream had no position, so it may lack changes. */
let isResyncDue = false

/** Calls the listener for each event. Returns a function that ends it. */
export function onEvent(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Calls the listener when events were missed, so data must be loaded again. */
export function onResync(listener: () => void): () => void {
  resyncListeners.add(listener)
  return () => resyncListeners.delete(listener)
}

/** Resolves when the stream is open, or will not be soon. If it opens later, listeners of `onResync` are called. */
export async function streamReady(): Promise<void> {
  const timeout = new Promise<void>((resolve) => setTimeout(resolve, readyMaxMs))
  await Promise.race([ready, timeout])
  if (streamState.value !== 'off' && lastEventId === undefined) isResyncDue = true
}

export function startStream(): void {
  stopStream()
  controller = new AbortController()
  streamState.value = 'connecting'
  ready = new Promise((resolve) => {
    markReady = resolve
  })
  void follow(controller.signal)
}

/** Opens the stream again, without a position. */
export function restartStream(): void {
  startStream()
  isResyncDue = true
}

export function stopStream(): void {
  controller?.abort()
  controller = undefined
  lastEventId = undefined
  isResyncDue = false
  streamState.value = 'off'
  streamError.value = undefined
  markReady()
}

/** The id of the newest event that the stream has seen. Undefined while it has no position. */
export const newestEventId = (): number | undefined =>
  lastEventId === undefined || lastEventId === '' ? undefined : Number(lastEventId)

/** Ends the wait before the next attempt, unless the API has asked for it. */
export function reconnectNow(): void {
  if ((streamError.value?.retryAt ?? 0) <= now()) wake?.()
}

globalThis.addEventListener('online', reconnectNow)
// Otherwise a lost connection is noticed only after a long silence.
globalThis.addEventListener('offline', () => endAttempt())

async function follow(signal: AbortSignal): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    const key = currentApiKey()
    let delayMs = Math.min(delayMinMs * 2 ** attempt, delayMaxMs) * (0.5 + Math.random() / 2)
    try {
      await connect(signal, () => {
        attempt = 0
      })
    } catch (thrown) {
      if (signal.aborted) return
      const error = toRequestError(thrown)
      streamError.value = error
      if (error.code === 'events_expired') {
        lastEventId = undefined
        isResyncDue = true
        delayMs = 0
      } else if ((error.status === 401 || error.status === 403) && key === currentApiKey()) {
        streamState.value = 'rejected'
        return markReady()
      } else if (error.code === 'too_many_streams') delayMs = limitedDelayMs
      else if (error.retryAt !== undefined) delayMs = Math.max(delayMs, error.retryAt - now())
      streamState.value = error.code === 'too_many_streams' ? 'limited' : 'reconnecting'
      if (error.status !== 0) markReady()
    }
    if (signal.aborted) return
    if (streamState.value === 'live') streamState.value = 'reconnecting'
    await pause(delayMs)
  }
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })

/** Reads one connection until it ends. */
async function connect(signal: AbortSignal, onOpen: () => void): Promise<void> {
  const attempt = new AbortController()
  const abort = () => attempt.abort()
  signal.addEventListener('abort', abort)
  endAttempt = abort
  let silence = setTimeout(abort, silenceMaxMs)
  try {
    const resumed = lastEventId
    const key = currentApiKey()
    const response = await fetchOrFail('/v1/events', {
      headers: {
        ...authorization(),
        Accept: 'text/event-stream',
        ...(resumed !== undefined && { 'Last-Event-ID': resumed }),
      },
      cache: 'no-store',
      credentials: 'omit',
      signal: attempt.signal,
    })
    if (!response.ok || !response.body) throw await failure(response, key)
    onOpen()
    lastEventId ??= response.headers.get('last-event-id') ?? undefined
    streamState.value = 'live'
    streamError.value = undefined
    markReady()
    if (isResyncDue) for (const listener of resyncListeners) listener()
    isResyncDue = false
    for await (const text of blocks(response.body)) {
      clearTimeout(silence)
      silence = setTimeout(abort, silenceMaxMs)
      dispatch(text)
    }
  } catch (error) {
    if (isAbort(error) && !signal.aborted)
      throw new RequestError('network_error', 'The connection of the event stream was lost.')
    throw error
  } finally {
    clearTimeout(silence)
    signal.removeEventListener('abort', abort)
    attempt.abort()
  }
}

/** The blocks of a stream of server-sent events, which end with an empty line. */
async function* blocks(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    rest += decoder.decode(value, { stream: true })
    const parts = rest.split('\n\n')
    rest = parts.pop() ?? ''
    yield* parts
  }
}

function dispatch(block: string): void {
  let id: string | undefined
  let data = ''
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) id = line.slice(4)
    else if (line.startsWith('data: ')) data += line.slice(6)
  }
  if (id === undefined || data === '') return
  lastEventId = id
  const event = parseJson(data) as StoreEvent
  for (const listener of listeners) listener(event)
}
