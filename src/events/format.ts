import { timestamp } from '../clock.ts'
import type { StoreEvent } from './event.ts'

/** The event as callers see it. `data` is JSON text already. */
export const eventJson = ({ id, type, createdAt, data }: StoreEvent): string =>
  `{"id":${id},"type":"${type}","createdAt":"${timestamp(createdAt)}","data":${data}}`

/** Events as a stream sends them. */
export const streamText = (events: readonly StoreEvent[]): string =>
  events.map((event) => `id: ${event.id}\nevent: ${event.type}\ndata: ${eventJson(event)}\n\n`).join('')
