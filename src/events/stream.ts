import { type StreamBody, StreamChunk, type StreamEvents, type StreamWriter } from '../api/streamBody.ts'
import type { FeedEvent } from './event.ts'
import { toServerSentEvents } from './format.ts'
import type { TokenAccess } from './streamAccess.ts'

export type StreamBounds = {
  readonly heartbeatMs: number
  /** A reader that has taken nothing for this long is told so and closed. */
  readonly slowReaderMs: number
  /** How many streams there are at once, of all keys. */
  readonly streamsMax: number
}

export const defaultStreamBounds: StreamBounds = {
  heartbeatMs: 15_000,
  slowReaderMs: 30_000,
  // Half of the connections that a server takes.
  streamsMax: 5_000,
}

const openComment = new StreamChunk(': listening\n\n')
const heartbeat = new StreamChunk(': heartbeat\n\n')

/** Why a stream ends, and what its reader is told last. */
export const endMessages = {
  failed: new StreamChunk(': internal error, reconnect\n\n'),
  stopping: new StreamChunk(': the service is stopping, reconnect\n\n'),
  ended: new StreamChunk(': access ended, reconnect for the error\n\n'),
  slow: new StreamChunk(
    'event: slow_reader\ndata: {"message":"You read too slowly: resume from the last id."}\n\n',
  ),
} as const

/** New events as all live streams are sent them. */
export type EventBatch = {
  /** The last event of the batch. */
  readonly through: number
  readonly all: StreamChunk
  /** Without those for which a key needs a scope of its own; undefined where that leaves none. */
  readonly open: StreamChunk | undefined
}

/** What a stream that is behind is sent next. */
export type CatchUpPage = { readonly events: readonly FeedEvent[]; readonly through: number }

/** What a stream needs of the reader that all streams share. */
export type StreamSource = {
  /** The event up to which live streams have been sent everything. */
  readonly position: number
  /** The next page, up to the shared position; undefined where the stream must end. */
  page(stream: EventStream): Promise<CatchUpPage | undefined>
  add(stream: EventStream): void
  remove(stream: EventStream): void
  onFault(error: unknown): void
}

/**
 * One stream of server-sent events. It is live while it has been sent everything that the shared reader has read, and
 * then gets the chunks that all live streams get. One that begins at an older position, or whose reader is behind, reads
 * pages of its own until it is live. Nothing is buffered beyond what a connection buffers and one page.
 */
export class EventStream implements StreamBody {
  readonly access: TokenAccess
  readonly #source: StreamSource
  #position: number
  #writer: StreamWriter | undefined
  #isLive = false
  #isCatchingUp = false
  #isOver = false
  #sentAt = 0
  /** Since when its reader has taken nothing. */
  #blockedAt: number | undefined

  constructor(source: StreamSource, access: TokenAccess, position: number) {
    this.#source = source
    this.access = access
    this.#position = position
  }

  get position(): number {
    return this.#position
  }

  readonly start = (writer: StreamWriter): StreamEvents => {
    this.#writer = writer
    this.#send(openComment)
    this.#source.add(this)
    return { onDrain: () => this.#drained(), onClose: this.cancel }
  }

  /** The reader is gone, or never came. */
  readonly cancel = (): void => {
    if (this.#isOver) return
    this.#isOver = true
    this.#source.remove(this)
  }

  end(endMessage: StreamChunk): void {
    if (this.#isOver) return
    this.cancel()
    this.#writer?.end(endMessage)
  }

  /** Sends what is new, or lets a stream that was not live try again. */
  deliver({ through, all, open }: EventBatch): void {
    if (!this.#isLive) return void this.catchUp()
    if (this.#position >= through) return
    this.#position = through
    const chunk = this.access.seesPrivate ? all : open
    if (chunk) this.#send(chunk)
  }

  /** Ends it or sends a heartbeat, where it is time for either. */
  check(now: number, { heartbeatMs, slowReaderMs }: StreamBounds): void {
    if (this.#blockedAt !== undefined) {
      if (now - this.#blockedAt >= slowReaderMs) this.end(endMessages.slow)
    } else if (now - this.#sentAt >= heartbeatMs) this.#send(heartbeat)
  }

  catchUp(): void {
    if (this.#isCatchingUp || this.#isOver || this.#blockedAt !== undefined) return
    this.#isCatchingUp = true
    void this.#readPages().catch((error: unknown) => {
      this.#source.onFault(error)
      this.end(endMessages.failed)
    })
  }

  async #readPages(): Promise<void> {
    try {
      // A stream ahead of the shared reader waits for its next batch.
      while (!this.#isOver && this.#blockedAt === undefined && this.#position < this.#source.position) {
        const page = await this.#source.page(this)
        if (!page) return this.end(endMessages.ended)
        this.#position = page.through
        if (page.events.length > 0) this.#send(new StreamChunk(toServerSentEvents(page.events)))
      }
      this.#isLive = this.#blockedAt === undefined && this.#position === this.#source.position
    } finally {
      this.#isCatchingUp = false
    }
  }

  #drained(): void {
    this.#blockedAt = undefined
    if (!this.#isLive) this.catchUp()
  }

  #send(chunk: StreamChunk): void {
    if (this.#isOver) return
    this.#sentAt = performance.now()
    if (this.#writer?.write(chunk) !== false) return
    this.#blockedAt = this.#sentAt
    this.#isLive = false
  }
}
