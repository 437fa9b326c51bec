import { signal } from '@preact/signals'
import {
  type Int64,
  parseInt64,
  type Event as StoreEvent,
  type StreamConnection,
  type StreamDisconnection,
} from '../../../client/src/index.ts'
import { now } from './clock.ts'
import { type RequestError, toRequestError } from './errors.ts'
import { store } from './store.ts'

/** The event stream of this tab. All screens share it. No change is missed while it reconnects. */

/**
 * `off`: the key cannot read events. `rejected`: the API does not open a stream, `streamError` says why. `limited`: the key
 * has all its streams open, in other tabs or programs.
 */
type StreamState = 'off' | 'connecting' | 'live' | 'reconnecting' | 'limited' | 'rejected'

export const streamState = signal<StreamState>('off')
export const streamError = signal<RequestError | undefined>(undefined)

/** Another tab may have been closed by then. Each attempt counts against the rate limit. */
const limitedDelayMs = 3 * 60_000
/** After a response that is not from the service. */
const restartDelayMs = 30_000
/** How long a screen waits for the stream before it loads its data. */
const readyMaxMs = 1_500

type Follower = { onEvent(event: StoreEvent): void; onResync(): void }
const followers = new Set<Follower>()

let controller: AbortController | undefined
/** The id of the newest event that the stream has seen. Undefined while it has no position. */
let lastEventId: Int64 | undefined
/** Ends the connection that is open, or the wait for the next one. */
let reconnect: () => void = () => {}
let markReady: () => void = () => {}
let ready: Promise<void> = Promise.resolve()
/** Data was loaded while the stream had no position, so it may lack changes. */
let isResyncDue = false

/**
 * Calls `onEvent` for each event, and `onResync` when events were missed, so data must be loaded again. Returns a function
 * that ends it.
 */
export function followEvents(onEvent: Follower['onEvent'], onResync = () => {}): () => void {
  const follower = { onEvent, onResync }
  followers.add(follower)
  return () => followers.delete(follower)
}

/** Calls `run` once for all events that match within a time, and after a resync. Returns a function that ends it. */
export function collectEvents(
  matches: (event: StoreEvent) => boolean,
  run: () => void,
  collectMs: number,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const collect = () => {
    timer ??= setTimeout(() => {
      timer = undefined
      run()
    }, collectMs)
  }
  const end = followEvents((event) => {
    if (matches(event)) collect()
  }, collect)
  return () => {
    end()
    clearTimeout(timer)
  }
}

/** Resolves when the stream is open, or will not be soon. If it opens later, `onResync` of all followers is called. */
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

export const newestEventId = (): number | undefined =>
  lastEventId === undefined ? undefined : Number(lastEventId)

/** Ends the wait before the next attempt, unless the API has asked for it. */
export function reconnectNow(): void {
  if (streamState.value !== 'live' && (streamError.value?.retryAt ?? 0) <= now()) reconnect()
}

globalThis.addEventListener('online', reconnectNow)
// Otherwise a lost connection is noticed only after a long silence.
globalThis.addEventListener('offline', () => {
  if (streamState.value === 'live') reconnect()
})

async function follow(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const client = store
    try {
      const options = { after: lastEventId, onConnect, onDisconnect }
      for await (const event of client.events.stream(options, { signal })) {
        lastEventId = event.id
        for (const { onEvent } of followers) onEvent(event)
      }
    } catch (thrown) {
      if (signal.aborted) return
      const error = toRequestError(thrown)
      if (error.code === 'events_expired') {
        lastEventId = undefined
        isResyncDue = true
      } else if (error.status !== 401 && error.status !== 403) {
        showDisconnected(error)
        await new Promise<void>((resolve) => {
          reconnect = resolve
          setTimeout(resolve, restartDelayMs)
        })
      } else if (client === store) {
        streamError.value = error
        streamState.value = 'rejected'
        return markReady()
      }
    }
  }
}

function onConnect(connection: StreamConnection): void {
  reconnect = connection.reconnect
  if (connection.lastEventId !== undefined) lastEventId ??= parseInt64(connection.lastEventId)
  streamState.value = 'live'
  streamError.value = undefined
  markReady()
  if (isResyncDue) for (const { onResync } of followers) onResync()
  isResyncDue = false
}

function onDisconnect({ error, ...disconnection }: StreamDisconnection): number | undefined {
  reconnect = disconnection.reconnect
  showDisconnected(error && toRequestError(error))
  return streamState.value === 'limited' ? limitedDelayMs : undefined
}

function showDisconnected(error: RequestError | undefined): void {
  streamError.value = error
  streamState.value = error?.code === 'too_many_streams' ? 'limited' : 'reconnecting'
  if (error && error.status !== 0) markReady()
}
