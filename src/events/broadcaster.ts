import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type StreamBody, StreamChunk } from '../api/streamBody.ts'
import type { Clock } from '../clock.ts'
import { ConcurrencyLimit } from '../database/concurrencyLimit.ts'
import { type Database, DatabaseUnavailableError } from '../database/database.ts'
import { type FeedEvent, isPrivateEvent } from './event.ts'
import { eventsAfter, lastPrunedEventId } from './queries.ts'
import {
  type CatchUpPage,
  type EventBatch,
  EventStream,
  type StreamBounds,
  type StreamOptions,
  type StreamSource,
  streamEndMessages,
  toServerSentEvents,
} from './stream.ts'
import { type FindStreamAccess, TokenAccessRegistry } from './streamAccess.ts'

/** Events that are recorded within this time after a read are read and sent together. */
const coalesceMs = 100
const pageEventsMax = 100
/** How many streams are handled before the event loop continues with other work. */
const streamsPerTurn = 200
const catchUpReadsMax = 4
/** Every stream may have to read a page. One that waits for longer ends, and its client connects again. */
const catchUpWaitMaxMs = 60_000
/** The maximum delay of a heartbeat, or of the end of a stream that is slow or no longer allowed. */
const checkMs = 1_000

type BroadcasterOptions = {
  readonly database: Database
  readonly clock: Clock
  readonly bounds: StreamBounds
  readonly findAccess: FindStreamAccess
  onFault(error: unknown): void
}

/** Reads new events once for all streams of this instance, and sends the same encoded bytes to every live stream. */
export class EventBroadcaster implements StreamSource {
  readonly #options: BroadcasterOptions
  readonly #accesses: TokenAccessRegistry
  readonly #streams = new Set<EventStream>()
  readonly #catchUpReads = new ConcurrencyLimit(catchUpReadsMax, { waitMaxMs: catchUpWaitMaxMs })
  position = 0
  #isReading = false
  /** After a read, for `coalesceMs`. */
  #isPaused = false
  #isWakePending = false
  #checkTimer: NodeJS.Timeout | undefined
  #isChecking = false
  #isClosed = false

  constructor(options: BroadcasterOptions) {
    this.#options = options
    this.#accesses = new TokenAccessRegistry(options.findAccess, options.bounds.streamsMax)
  }

  /** A stream that is added when its body is started. */
  async open(token: string, options: Omit<StreamOptions, 'access'>): Promise<StreamBody> {
    return new EventStream(this, { ...options, access: await this.#accesses.acquire(token) })
  }

  /** The id up to which events were committed before the call. Rejects if some of them get no id in time. */
  async committedThrough(): Promise<number> {
    const { database, bounds } = this.#options
    const signal = AbortSignal.timeout(bounds.startWaitMaxMs)
    const through = await database.allReadableThrough(signal)
    if (signal.aborted) throw new DatabaseUnavailableError('Many events have no id yet.')
    return through
  }

  /** Reads new events. Called when there may be some. */
  wake(): void {
    this.#isWakePending = true
    if (this.#streams.size > 0 && !this.#isReading && !this.#isPaused) void this.#readNewEvents()
  }

  /** Ends every stream. Streams that are opened later end immediately. */
  close(): void {
    this.#isClosed = true
    this.#endAll(streamEndMessages.stopping)
  }

  add(stream: EventStream): void {
    if (this.#isClosed) return void stream.end(streamEndMessages.stopping)
    // Nothing is read while there are no streams, so the position is out of date.
    if (this.#streams.size === 0 && !this.#isReading) this.position = stream.options.newest
    this.#streams.add(stream)
    const { heartbeatMs, slowReaderMs } = this.#options.bounds
    this.#checkTimer ??= setInterval(() => void this.#check(), Math.min(checkMs, heartbeatMs, slowReaderMs))
    stream.catchUp()
    // Events may have been recorded since `newest` was read.
    this.wake()
  }

  remove(stream: EventStream): void {
    this.#streams.delete(stream)
    this.#accesses.release(stream.options.access)
    if (this.#streams.size > 0) return
    clearInterval(this.#checkTimer)
    this.#checkTimer = undefined
  }

  readPage(stream: EventStream): Promise<CatchUpPage | undefined> {
    return this.#catchUpReads.run(async () => {
      const { database, clock } = this.#options
      const target = this.position
      const { position } = stream
      const { access } = stream.options
      await access.refresh()
      if (!access.isAllowed(clock()) || position < (await lastPrunedEventId(database.read))) return undefined
      const events = await eventsAfter(database.read, position, pageEventsMax, access.includesPrivate, target)
      // Reads of SQLite are synchronous.
      await yieldToEventLoop()
      const isLast = events.length < pageEventsMax
      return { events, through: isLast ? target : (events.at(-1)?.id ?? target) }
    })
  }

  onFault(error: unknown): void {
    this.#options.onFault(error)
  }

  #endAll(endMessage: StreamChunk): void {
    for (const stream of [...this.#streams]) stream.end(endMessage)
  }

  async #readNewEvents(): Promise<void> {
    this.#isReading = true
    this.#isWakePending = false
    try {
      // After a full page there may be more.
      while (this.#streams.size > 0 && (await this.#broadcastPage()) === pageEventsMax)
        await yieldToEventLoop()
    } catch (error) {
      this.onFault(error)
      this.#endAll(streamEndMessages.failed)
    }
    this.#isReading = false
    this.#isPaused = true
    await sleep(coalesceMs, undefined, { ref: false })
    this.#isPaused = false
    if (this.#isWakePending) this.wake()
  }

  /** Sends the next page of events to the live streams. Returns the number of events. */
  async #broadcastPage(): Promise<number> {
    const { database } = this.#options
    // A restore has replaced the database that the streams followed.
    if (this.position < (await lastPrunedEventId(database.read))) {
      this.#endAll(streamEndMessages.ended)
      return 0
    }
    const through = await database.readableThrough()
    const events = await eventsAfter(database.read, this.position, pageEventsMax, true, through)
    const last = events.at(-1)
    if (!last) return 0
    const keyIds = changedKeyIds(events)
    if (keyIds.size > 0) await this.#accesses.refreshKeys(keyIds)
    this.position = last.id
    const batch = encodeBatch(events, last.id)
    await this.#forEachAllowedStream((stream) => stream.deliver(batch))
    return events.length
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    try {
      await this.#forEachAllowedStream((stream) => stream.check(performance.now(), this.#options.bounds))
    } catch (error) {
      // The next check tries again.
      this.onFault(error)
    }
    this.#isChecking = false
  }

  /** Ends the streams that are no longer allowed, and calls `action` with the others. */
  async #forEachAllowedStream(action: (stream: EventStream) => void): Promise<void> {
    let handled = 0
    for (const stream of this.#streams) {
      if (stream.options.access.isAllowed(this.#options.clock())) action(stream)
      else stream.end(streamEndMessages.ended)
      if (++handled % streamsPerTurn === 0) await yieldToEventLoop()
    }
  }
}

function encodeBatch(events: readonly FeedEvent[], through: number): EventBatch {
  const all = new StreamChunk(toServerSentEvents(events))
  const publicEvents = events.filter(({ type }) => !isPrivateEvent(type))
  if (publicEvents.length === events.length) return { through, all, publicOnly: all }
  const publicOnly = publicEvents.length === 0 ? undefined : new StreamChunk(toServerSentEvents(publicEvents))
  return { through, all, publicOnly }
}

/** The ids of the API keys that events refer to. */
const changedKeyIds = (events: readonly FeedEvent[]): Set<number> =>
  new Set(
    events
      .filter(({ type }) => isPrivateEvent(type))
      .map(({ data }) => (JSON.parse(data) as { id: number }).id),
  )
