import { setImmediate as nextTurn } from 'node:timers/promises'
import { type StreamBody, StreamChunk } from '../api/streamBody.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { MaybePromise } from '../maybePromise.ts'
import { type FeedEvent, isPrivateEvent } from './event.ts'
import { toServerSentEvents } from './format.ts'
import { eventsAfter, prunedThrough } from './queries.ts'
import {
  type CatchUpPage,
  type EventBatch,
  EventStream,
  endMessages,
  type StreamBounds,
  type StreamSource,
} from './stream.ts'
import { type FindStreamAccess, type StreamAccess, TokenAccessTable } from './streamAccess.ts'

/** Events that come within this time after the last were sent are read, and sent, together. */
const coalesceMs = 100
const pageEvents = 100
/** How many streams are written to before other work has its turn. */
const streamsPerTurn = 200
/** How many streams that are behind read the store at the same time. */
const pageReadsMax = 4
/** How late a heartbeat, the end of a slow reader or that of an expired key may be. */
const checkMs = 1_000

type BroadcasterOptions = {
  readonly database: Database
  readonly clock: Clock
  readonly bounds: StreamBounds
  readonly findAccess: FindStreamAccess
  /** The id up to which events are durable; later ones are not sent yet. */
  durableThrough(): MaybePromise<number>
  onFault(error: unknown): void
}

type StreamRequest = {
  readonly keyId: number
  readonly token: string
  /** What the key allows, as read after `newest`. */
  readonly access: StreamAccess
  /** The stream sends events after this one. */
  readonly after: number
  /** The newest event when the request was served. */
  readonly newest: number
  /** Called once, however the stream ends. */
  onClose(): void
}

/**
 * The one reader of new events for all streams of this instance: it reads, encodes and frames them once, and hands the
 * same bytes to every live stream.
 */
export class EventBroadcaster {
  readonly #options: BroadcasterOptions
  readonly #access: TokenAccessTable
  readonly #streams = new Set<EventStream>()
  readonly #waitingReads: (() => void)[] = []
  #pageReads = 0
  #position = 0
  #isReading = false
  #isWakePending = false
  #nextReadAt = 0
  #nextRead: NodeJS.Timeout | undefined
  #checking: NodeJS.Timeout | undefined
  #isChecking = false
  #isClosed = false

  constructor(options: BroadcasterOptions) {
    this.#options = options
    this.#access = new TokenAccessTable(options.findAccess)
  }

  /** A stream that begins when its body is started. */
  open({ keyId, token, access, after, newest, onClose }: StreamRequest): StreamBody {
    const shared = this.#access.acquire(keyId, token, access)
    const broadcaster = this
    const source: StreamSource = {
      get position() {
        return broadcaster.#position
      },
      page: (stream) => this.#page(stream),
      add: (stream) => this.#add(stream, newest),
      remove: (stream) => {
        this.#streams.delete(stream)
        this.#access.release(shared)
        if (this.#streams.size === 0) this.#stopTimers()
        onClose()
      },
      onFault: this.#options.onFault,
    }
    return new EventStream(source, shared, after)
  }

  /** There may be new events. */
  wake(): void {
    this.#isWakePending = true
    if (this.#streams.size === 0 || this.#isReading || this.#nextRead) return
    const waitMs = this.#nextReadAt - performance.now()
    if (waitMs <= 0) return void this.#readNew()
    this.#nextRead = setTimeout(() => {
      this.#nextRead = undefined
      void this.#readNew()
    }, waitMs)
  }

  /** Ends every stream; later ones are ended at once. */
  close(): void {
    this.#isClosed = true
    this.#endAll(endMessages.stopping)
  }

  #add(stream: EventStream, newest: number): void {
    if (this.#isClosed) return void stream.end(endMessages.stopping)
    // While there are no streams nothing is read, so the position is an old one.
    if (this.#streams.size === 0 && !this.#isReading) this.#position = newest
    this.#streams.add(stream)
    const { heartbeatMs, slowReaderMs } = this.#options.bounds
    this.#checking ??= setInterval(() => void this.#check(), Math.min(checkMs, heartbeatMs, slowReaderMs))
    stream.catchUp()
    // There may be events since the newest was looked up.
    this.wake()
  }

  #stopTimers(): void {
    clearInterval(this.#checking)
    clearTimeout(this.#nextRead)
    this.#checking = undefined
    this.#nextRead = undefined
  }

  #endAll(endMessage: StreamChunk): void {
    for (const stream of [...this.#streams]) stream.end(endMessage)
  }

  async #readNew(): Promise<void> {
    this.#isReading = true
    this.#isWakePending = false
    try {
      // A full page may not be the last one.
      while (this.#streams.size > 0 && (await this.#readPage()) === pageEvents) await nextTurn()
    } catch (error) {
      this.#options.onFault(error)
      this.#endAll(endMessages.failed)
    }
    this.#isReading = false
    this.#nextReadAt = performance.now() + coalesceMs
    if (this.#isWakePending) this.wake()
  }

  /** Reads the next page and sends it to the live streams; returns how many events it has. */
  async #readPage(): Promise<number> {
    const { database, clock, durableThrough } = this.#options
    // Another store is in place of the one that these streams followed.
    if (this.#position < (await prunedThrough(database.read))) {
      this.#endAll(endMessages.ended)
      return 0
    }
    const through = await durableThrough()
    const events = await eventsAfter(database.read, this.#position, pageEvents, true, through)
    const last = events.at(-1)
    if (!last) return 0
    const changedKeys = keysIn(events)
    if (changedKeys.size > 0) await this.#access.refreshKeys(changedKeys)
    this.#position = last.id
    const batch = batchOf(events, last.id)
    await this.#forEachStream((stream) => {
      if (stream.access.isAllowed(clock())) stream.deliver(batch)
      else stream.end(endMessages.ended)
    })
    return events.length
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    const { clock, bounds } = this.#options
    await this.#forEachStream((stream) => {
      if (stream.access.isAllowed(clock())) stream.check(performance.now(), bounds)
      else stream.end(endMessages.ended)
    })
    this.#isChecking = false
  }

  async #forEachStream(action: (stream: EventStream) => void): Promise<void> {
    let visited = 0
    for (const stream of this.#streams) {
      action(stream)
      if (++visited % streamsPerTurn === 0) await nextTurn()
    }
  }

  /** A page for a stream that is behind, up to the shared position; undefined where the stream must end. */
  async #page(stream: EventStream): Promise<CatchUpPage | undefined> {
    while (this.#pageReads >= pageReadsMax)
      await new Promise<void>((resolve) => this.#waitingReads.push(resolve))
    this.#pageReads++
    try {
      const { read } = this.#options.database
      const target = this.#position
      const { access, position } = stream
      await this.#access.refresh(access)
      const isAllowed = access.isAllowed(this.#options.clock())
      if (!isAllowed || position < (await prunedThrough(read))) return undefined
      const events = await eventsAfter(read, position, pageEvents, access.seesPrivate, target)
      // The embedded store reads without a turn of the event loop.
      await nextTurn()
      const isLast = events.length < pageEvents
      return { events, through: isLast ? target : (events.at(-1)?.id ?? target) }
    } finally {
      this.#pageReads--
      this.#waitingReads.shift()?.()
    }
  }
}

function batchOf(events: readonly FeedEvent[], through: number): EventBatch {
  const all = new StreamChunk(toServerSentEvents(events))
  const open = events.filter(({ type }) => !isPrivateEvent(type))
  if (open.length === events.length) return { through, all, open: all }
  return { through, all, open: open.length === 0 ? undefined : new StreamChunk(toServerSentEvents(open)) }
}

/** The ids of the keys that events tell of. */
const keysIn = (events: readonly FeedEvent[]): Set<number> =>
  new Set(
    events
      .filter(({ type }) => isPrivateEvent(type))
      .map(({ data }) => (JSON.parse(data) as { id: number }).id),
  )
