import { timestamp } from '../clock.ts'
import type { StoreEvent } from './event.ts'
import type { Hub } from './hub.ts'

export type StreamBounds = {
  readonly heartbeatMs: number
  /** A reader that has taken nothing for this long is told so and closed. */
  readonly slowReaderMs: number
  /** How many streams there are at once. */
  readonly streamsMax: number
}

export const usualStreamBounds: StreamBounds = {
  heartbeatMs: 15_000,
  slowReaderMs: 30_000,
  streamsMax: 1_000,
}
const pageEvents = 100

export type StreamOptions = {
  readonly hub: Hub
  readonly after: number
  readonly bounds: StreamBounds
  /**
   * Events after a position; the stream asks again whenever the hub wakes it. Nothing at all where the caller may no
   * longer listen: its key may have been revoked meanwhile.
   */
  read(after: number, limit: number): Promise<StoreEvent[] | undefined>
  /** Called once, however it ends. */
  onClose(): void
  onFault(error: unknown): void
}

/**
 * Server-sent events from a position on. Nothing is buffered beyond one page: the next is read from the store only when
 * the reader has taken the last, and a reader that takes nothing for too long is told so and closed; it can resume.
 */
export function eventStream({
  hub,
  after,
  bounds: { heartbeatMs, slowReaderMs },
  read,
  onClose,
  onFault,
}: StreamOptions): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let position = after
  let isOver = false
  let slowTimer: NodeJS.Timeout | undefined

  const close = () => {
    if (isOver) return
    isOver = true
    clearTimeout(slowTimer)
    onClose()
  }
  const end = (controller: ReadableStreamDefaultController<Uint8Array>, farewell: string) => {
    if (isOver) return
    close()
    controller.enqueue(encoder.encode(farewell))
    controller.close()
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode(': listening\n\n'))
      },
      /** Called whenever the reader has room; answers with what is new, or a heartbeat. */
      async pull(controller) {
        clearTimeout(slowTimer)
        const events = await next().catch((error: unknown) => {
          onFault(error)
          return 'failed' as const
        })
        if (isOver) return
        if (events === 'failed') return end(controller, ': the service cannot go on, resume\n\n')
        if (events === 'closed') return end(controller, ': the service is stopping, resume elsewhere\n\n')
        if (events === 'unwelcome')
          return end(controller, ': this stream has ended, connect again to learn why\n\n')
        position = events.at(-1)?.id ?? position
        controller.enqueue(encoder.encode(events.length > 0 ? events.map(shown).join('') : ': heartbeat\n\n'))
        slowTimer = setTimeout(
          () =>
            end(
              controller,
              'event: slow_reader\ndata: {"message":"You read too slowly: resume from the last id."}\n\n',
            ),
          slowReaderMs,
        )
      },
      cancel: close,
    },
    { highWaterMark: 1 },
  )

  /** New events; none when it is time for a heartbeat. */
  async function next(): Promise<StoreEvent[] | 'closed' | 'unwelcome'> {
    const heartbeatAt = performance.now() + heartbeatMs
    for (;;) {
      if (hub.isClosed) return 'closed'
      const { wakes } = hub
      const events = await read(position, pageEvents)
      if (events === undefined) return 'unwelcome'
      if (events.length > 0) return events
      if (isOver || performance.now() >= heartbeatAt) return []
      await hub.wait(wakes, Math.max(0, heartbeatAt - performance.now()))
    }
  }
}

const shown = ({ id, type, createdAt, data }: StoreEvent): string =>
  `id: ${id}\nevent: ${type}\ndata: ${eventJson({ id, type, createdAt, data })}\n\n`

/** The event as callers see it. `data` is JSON text already. */
export const eventJson = ({ id, type, createdAt, data }: StoreEvent): string =>
  `{"id":${id},"type":"${type}","createdAt":"${timestamp(createdAt)}","data":${data}}`
