import { timestamp } from '../clock.ts'
import type { FeedEvent } from './event.ts'

/** The event as callers see it. `data` is JSON text already. */
export const serializeEvent = ({ id, type, createdAt, data }: FeedEvent): string =>
  `{"id":${id},"type":"${type}","createdAt":"${timestamp(createdAt)}","data":${data}}`

/** Events as a stream sends them. */
export const toServerSentEvents = (events: readonly FeedEvent[]): string =>
  events.map((event) => `id: ${event.id}\nevent: ${event.type}\ndata: ${serializeEvent(event)}\n\n`).join('')
