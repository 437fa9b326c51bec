import { type StreamBody, StreamChunk, type StreamEvents, type StreamWriter } from '../api/streamBody.ts'
import { timestamp } from '../clock.ts'
import type { FeedEvent } from './event.ts'
import type { TokenAccess } from './streamAccess.ts'

export const defaultStreamBounds = {
  heartbeatMs: 15_000,
  /** A stream whose client has read nothing for this long is closed. */
  slowReaderMs: 30_000,
  /** The maximum number of open streams of all keys: half of the connections that a server accepts. */
  streamsMax: 5_000,
  /** How long a stream without a position waits until all events before it have an id. */
  startWaitMaxMs: 10_000,
}
export type StreamBounds = Readonly<typeof defaultStreamBounds>

const openComment = new StreamChunk(': listening\n\n')
const heartbeat = new StreamChunk(': heartbeat\n\n')

/** The last chunk of a stream, by the reason why it ends. */
export const streamEndMessages = {
  failed: new StreamChunk(': internal error, reconnect\n\n'),
  stopping: new StreamChunk(': the service is stopping, reconnect\n\n'),
  ended: new StreamChunk(': access ended, reconnect for the error\n\n'),
  slow: new StreamChunk(
    'event: slow_reader\ndata: {"message":"The client reads too slowly. Resume from the last id."}\n\n',
  ),
} as const

/** The event as JSON text. */
export const serializeEvent = ({ id, type, createdAt, data }: FeedEvent): string =>
  `{"id":${id},"type":"${type}","createdAt":"${timestamp(createdAt)}","data":${data}}`

/** The events in the format of `text/event-stream`. */
export const toServerSentEvents = (events: readonly FeedEvent[]): string =>
  events.map((event) => `id: ${event.id}\nevent: ${event.type}\ndata: ${serializeEvent(event)}\n\n`).join('')

/** New events, encoded once for all live streams. */
export type EventBatch = {
  /** The id of the last event. */
  readonly through: number
  readonly all: StreamChunk
  /** Without private events. Undefined if there are no others. */
  readonly publicOnly: StreamChunk | undefined
}

/** The next events for a stream that is behind. It has then received all events up to the id `through`. */
export type CatchUpPage = { readonly events: readonly FeedEvent[]; readonly through: number }

/** Supplies streams with events. */
export type StreamSource = {
  /** The id up to which all live streams have received events. */
  readonly position: number
  /** The next page for a stream that is behind. Undefined if the stream must end. */
  readPage(stream: EventStream): Promise<CatchUpPage | undefined>
  add(stream: EventStream): void
  remove(stream: EventStream): void
  onFault(error: unknown): void
}

export type StreamOptions = {
  readonly access: TokenAccess
  /** The stream sends the events after this id. */
  readonly after: number
  /** The id of the newest event when the stream was requested. */
  readonly newest: number
}

/**
 * One stream of server-sent events. A live stream is at the position of the source and receives the same chunks as all
 * other live streams. A stream that starts at an older position, or whose client reads slowly, is behind: it reads pages
 * until it is live. A stream buffers at most one page in addition to the buffer of its connection.
 */
export class EventStream implements StreamBody {
  readonly options: StreamOptions
  readonly #source: StreamSource
  position: number
  #writer: StreamWriter | undefined
  #isLive = false
  #isCatchingUp = false
  #hasEnded = false
  #sentAt = 0
  /** When the client stopped reading. */
  #blockedAt: number | undefined

  constructor(source: StreamSource, options: StreamOptions) {
    this.#source = source
    this.options = options
    this.position = options.after
  }

  readonly start = (writer: StreamWriter): StreamEvents => {
    this.#writer = writer
    this.#send(openComment)
    this.#source.add(this)
    return { onDrain: () => this.#onDrain(), onClose: this.cancel }
  }

  /** The client has disconnected, or the body is not sent. */
  readonly cancel = (): void => {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#source.remove(this)
  }

  end(endMessage: StreamChunk): void {
    if (this.#hasEnded) return
    this.cancel()
    this.#writer?.end(endMessage)
  }

  /** Sends new events. A stream that is behind continues to catch up instead. */
  deliver({ through, all, publicOnly }: EventBatch): void {
    if (!this.#isLive) return void this.catchUp()
    if (this.position >= through) return
    this.position = through
    const chunk = this.options.access.includesPrivate ? all : publicOnly
    if (chunk) this.#send(chunk)
  }

  /** Sends a heartbeat or ends the stream of a slow client, if due. */
  check(now: number, { heartbeatMs, slowReaderMs }: StreamBounds): void {
    if (this.#blockedAt !== undefined) {
      if (now - this.#blockedAt >= slowReaderMs) this.end(streamEndMessages.slow)
    } else if (now - this.#sentAt >= heartbeatMs) this.#send(heartbeat)
  }

  catchUp(): void {
    if (this.#isCatchingUp || this.#hasEnded || this.#blockedAt !== undefined) return
    this.#isCatchingUp = true
    void this.#readPages().catch((error: unknown) => {
      this.#source.onFault(error)
      this.end(streamEndMessages.failed)
    })
  }

  async #readPages(): Promise<void> {
    try {
      // A stream can be ahead of the source. It then waits for the next batch.
      while (!this.#hasEnded && this.#blockedAt === undefined && this.position < this.#source.position) {
        const page = await this.#source.readPage(this)
        if (!page) return this.end(streamEndMessages.ended)
        this.position = page.through
        if (page.events.length > 0) this.#send(new StreamChunk(toServerSentEvents(page.events)))
      }
      this.#isLive = this.#blockedAt === undefined && this.position === this.#source.position
    } finally {
      // In the same turn: a later call of `catchUp` must not be dropped.
      this.#isCatchingUp = false
    }
  }

  #onDrain(): void {
    this.#blockedAt = undefined
    if (!this.#isLive) this.catchUp()
  }

  #send(chunk: StreamChunk): void {
    if (this.#hasEnded) return
    this.#sentAt = performance.now()
    if (this.#writer?.write(chunk) !== false) return
    this.#blockedAt = this.#sentAt
    this.#isLive = false
  }
}
