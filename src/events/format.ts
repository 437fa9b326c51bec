import { timestamp } from '../clock.ts'
import type { FeedEvent } from './event.ts'

/** The event as JSON text. */
export const serializeEvent = ({ id, type, createdAt, data }: FeedEvent): string =>
  `{"id":${id},"type":"${type}","createdAt":"${timestamp(createdAt)}","data":${data}}`

/** The events in the format of `text/event-stream`. */
export const toServerSentEvents = (events: readonly FeedEvent[]): string =>
  events.map((event) => `id: ${event.id}\nevent: ${event.type}\ndata: ${serializeEvent(event)}\n\n`).join('')
