import { timestamp } from '../clock.ts'
import type { StoreEvent } from './event.ts'
import type { Hub } from './hub.ts'

export const heartbeatMs = 15_000
/** A reader that has taken nothing for this long is told so and closed. */
export const slowReaderMs = 30_000
const pageEvents = 100

export type StreamOptions = {
  readonly hub: Hub
  readonly after: number
  /** Events after a position; the stream asks again whenever the hub wakes it. */
  read(after: number, limit: number): Promise<StoreEvent[]>
  /** Whether the caller may go on listening: its key may have been revoked. */
  isWelcome(): Promise<boolean>
  onClose(): void
}

/**
 * Server-sent events from a position on. Nothing is buffered beyond one page: the next is read from the store only when
 * the reader has taken the last, and a reader that takes nothing for too long is told so and closed; it can resume.
 */
export function eventStream({
  hub,
  after,
  read,
  isWelcome,
  onClose,
}: StreamOptions): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let position = after
  let isOver = false
  let slowTimer: NodeJS.Timeout | undefined

  const end = (controller: ReadableStreamDefaultController<Uint8Array>, farewell: string) => {
    if (isOver) return
    isOver = true
    clearTimeout(slowTimer)
    onClose()
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
        const events = await next()
        if (isOver) return
        if (events === 'closed') return end(controller, ': the service is stopping, resume elsewhere\n\n')
        if (events === 'unwelcome') return end(controller, ': this key may no longer listen\n\n')
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
      cancel() {
        isOver = true
        clearTimeout(slowTimer)
        onClose()
      },
    },
    { highWaterMark: 1 },
  )

  /** New events; none when it is time for a heartbeat. */
  async function next(): Promise<StoreEvent[] | 'closed' | 'unwelcome'> {
    const heartbeatAt = performance.now() + heartbeatMs
    for (;;) {
      if (hub.isClosed) return 'closed'
      // The wait begins before the look, so that a wake in between is not missed.
      const woken = hub.wait(Math.max(0, heartbeatAt - performance.now()))
      if (!(await isWelcome())) return 'unwelcome'
      const events = await read(position, pageEvents)
      if (events.length > 0) return events
      if (isOver || performance.now() >= heartbeatAt) return []
      await woken
    }
  }
}

const shown = ({ id, type, createdAt, data }: StoreEvent): string =>
  `id: ${id}\nevent: ${type}\ndata: ${eventJson({ id, type, createdAt, data })}\n\n`

/** The event as callers see it. `data` is JSON text already. */
export const eventJson = ({ id, type, createdAt, data }: StoreEvent): string =>
  `{"id":${id},"type":"${type}","createdAt":"${timestamp(createdAt)}","data":${data}}`
