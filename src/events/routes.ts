import * as z from 'zod'
import { ApiError, validationFailed } from '../api/errors.ts'
import {
  type Context,
  defineOperation,
  type Operation,
  type OperationResult,
  type ReadContext,
} from '../api/operation.ts'
import { nextLink, nextPageLink, pageLimit } from '../api/pagination.ts'
import { prefersType } from '../api/request.ts'
import { digitsText } from '../api/validation.ts'
import type { Database } from '../database/database.ts'
import type { EventBroadcaster } from './broadcaster.ts'
import { eventsScope, privateEventsScope } from './event.ts'
import { eventsAfter, lastEventId, lastPrunedEventId } from './queries.ts'
import { type EventKind, eventErrors, eventExample, eventListSchema } from './schemas.ts'
import { serializeEvent } from './stream.ts'

const limitMax = 1_000
const limitDefault = 100

export type EventRoutesOptions = {
  readonly database: Database
  readonly broadcaster: EventBroadcaster
  /** The kinds of events, for OpenAPI. */
  readonly kinds: readonly EventKind[]
}

export const listEventsOperation = (options: EventRoutesOptions): Operation =>
  defineOperation('listEvents', 'GET /events', {
    tag: 'Events',
    summary: 'Follow changes',
    description:
      'Returns every change, oldest first and without gaps. With `Accept: text/event-stream` the response is a live stream, which resumes from `Last-Event-ID`. If `Accept` has both types, the preferred one is sent (RFC 9110, 12.5.1), and JSON if neither is preferred. Events are stored for 30 days. Events about API keys require the scope `keys:manage`.',
    stability: 'experimental',
    scope: eventsScope,
    query: z.object({
      after: digitsText(0, Number.MAX_SAFE_INTEGER).optional().meta({
        description: 'Only events after this id. By default, the list starts with the oldest event.',
      }),
      limit: pageLimit(limitMax, limitDefault).meta({
        description: 'The maximum number of events on a page.',
      }),
    }),
    requestHeaders: {
      'Last-Event-ID': {
        description:
          'The id of the last event that the client received. The stream resumes after it. It takes precedence over `after`.',
        schema: { pattern: '^[0-9]{0,16}$' },
      },
    },
    responses: {
      200: {
        description: 'The events after the given id.',
        schema: eventListSchema(options.kinds),
        optionalHeaders: nextPageLink,
        headers: {
          'Last-Event-Id':
            'The id of the newest event. After listing all resources, follow changes from this id.',
        },
        stream: {
          description:
            'Server-sent events, with `Accept: text/event-stream`. In each one, `id` is the id of the event, `event` is its type, and `data` is an `Event` as JSON. Lines that start with a colon are comments that keep the connection open. A client that reads too slowly receives the event `slow_reader`, and the stream ends. Ignore events of unknown types.',
          example: `id: ${eventExample.id}\nevent: ${eventExample.type}\ndata: ${JSON.stringify(eventExample)}\n\n`,
        },
      },
    },
    errors: [eventErrors.events_expired, eventErrors.too_many_streams],
    read: ({ query }, context) => readEvents(options, query, context),
  })

async function readEvents(
  { database, broadcaster }: EventRoutesOptions,
  { after, limit }: { after?: number | undefined; limit: number },
  context: ReadContext,
): Promise<OperationResult> {
  const { principal, header } = context
  const isStream = prefersType(header('accept'), 'text/event-stream', 'application/json')
  const pruned = await lastPrunedEventId(database.read)
  const sent = (isStream ? lastReceivedId(header) : undefined) ?? after
  // A stream without a position must not send what was committed before it.
  const through =
    isStream && sent === undefined ? await broadcaster.committedThrough() : await database.readableThrough()
  const newest = await lastEventId(database.read, through)
  const position = sent ?? (isStream ? newest : pruned)
  if (position < pruned || position > newest) throw eventsExpired(position, pruned, newest, context)
  const headers = { 'Last-Event-Id': String(newest) }
  if (isStream) {
    const stream = await broadcaster.open(principal.token, { after: position, newest })
    return { status: 200, stream, headers }
  }
  const includesPrivate = principal.scopes.has(privateEventsScope)
  const events = await eventsAfter(database.read, position, limit + 1, includesPrivate, through)
  const page = events.slice(0, limit)
  const json = `[${page.map(serializeEvent).join(',')}]`
  if (events.length === page.length) return { status: 200, json, headers }
  const Link = nextLink(context, { after: page.at(-1)?.id, limit })
  return { status: 200, json, headers: { ...headers, Link } }
}

function lastReceivedId(header: Context['header']): number | undefined {
  const id = header('last-event-id')
  if (id === undefined || id === '') return undefined
  if (/^\d{1,16}$/.test(id) && Number.isSafeInteger(Number(id))) return Number(id)
  throw validationFailed([{ path: 'Last-Event-ID', message: 'must be the id of an event' }])
}

/** The position is before the oldest event, or after the newest one, for example because a restore replaced the feed. */
function eventsExpired(position: number, pruned: number, newest: number, context: Context): ApiError {
  const isAhead = position > newest
  const next = isAhead ? newest : pruned
  const reason = isAhead
    ? `This id is after the newest event, which has the id ${newest}.`
    : `Some events after this id are no longer available. ${newest > pruned ? `The oldest event has the id ${pruned + 1}.` : 'There are no newer ones yet.'}`
  return new ApiError(
    eventErrors.events_expired,
    `${reason} List all resources again, then continue with after=${next}.`,
    { headers: { Link: nextLink(context, { after: next }) } },
  )
}
