import * as z from 'zod'
import type { Database } from '../database/database.ts'
import { ApiError, validationFailed } from '../http/errors.ts'
import { type Context, type Operation, operation } from '../http/operation.ts'
import { nextLink } from '../http/paging.ts'
import { digitsText, pageLimit } from '../http/validation.ts'
import type { Hub } from './hub.ts'
import { eventsAfter, lastEventId, prunedThrough } from './queries.ts'
import { type EventKind, eventExample, eventsSchema } from './schemas.ts'
import { eventJson, eventStream, type StreamBounds } from './stream.ts'

const limitMax = 1_000
const streamsPerKeyMax = 100
const limitDefault = 100
const privateScope = 'keys:manage'
const scope = 'events:read'

export type EventRoutesOptions = {
  readonly database: Database
  readonly hub: Hub
  readonly publicUrl: string | undefined
  readonly streamBounds: StreamBounds
  /** What a key may do at this moment; undefined where it is no longer valid. */
  scopesOf(token: string, now: number): Promise<ReadonlySet<string> | undefined>
  onFault(error: unknown): void
  /** What events there are, for the description of the API. */
  readonly kinds: readonly EventKind[]
}

export function eventRoutes(options: EventRoutesOptions): Operation[] {
  const { database, hub, publicUrl, streamBounds, scopesOf, onFault, kinds } = options
  let streams = 0
  /** So that one caller cannot take the places of all others. */
  const streamsOfKey = new Map<number, number>()

  function stream(after: number, { caller, clock }: Context) {
    const ofKey = streamsOfKey.get(caller.keyId) ?? 0
    if (streams >= streamBounds.streamsMax || ofKey >= streamsPerKeyMax)
      throw new ApiError('unavailable', undefined, { headers: { 'Retry-After': '5' } })
    streams++
    streamsOfKey.set(caller.keyId, ofKey + 1)
    return eventStream({
      hub,
      after,
      bounds: streamBounds,
      async read(position, limit) {
        // A stream outlasts its request, and the key's scopes may change meanwhile.
        const scopes = await scopesOf(caller.token, clock())
        const isBehind = position < (await prunedThrough(database.read))
        if (!scopes?.has(scope) || isBehind) return undefined
        return eventsAfter(database.read, position, limit, scopes.has(privateScope))
      },
      onFault,
      onClose() {
        streams--
        const left = (streamsOfKey.get(caller.keyId) ?? 1) - 1
        if (left > 0) streamsOfKey.set(caller.keyId, left)
        else streamsOfKey.delete(caller.keyId)
      },
    })
  }

  return [
    operation({
      id: 'listEvents',
      method: 'GET',
      path: '/events',
      tag: 'Events',
      summary: 'Follow changes',
      description:
        'Every change, oldest first, with no gaps. With `Accept: text/event-stream` the answer is a live stream, which resumes from `Last-Event-ID`. Events are kept 30 days. Events of keys are shown to keys with `keys:manage` alone.',
      stability: 'experimental',
      scope,
      query: z.object({
        after: digitsText(0, Number.MAX_SAFE_INTEGER)
          .optional()
          .meta({ description: 'Only events after this id; from the oldest one unless given.' }),
        limit: pageLimit(limitMax, limitDefault).meta({
          description: 'The maximum number of events on a page.',
        }),
      }),
      requestHeaders: {
        'Last-Event-ID': {
          description:
            'The id of the last event received: where a stream resumes. It takes precedence over `after`.',
          schema: { pattern: '^[0-9]{0,15}$' },
        },
      },
      answers: {
        200: {
          description: 'Events after the position.',
          schema: eventsSchema(kinds),
          optionalHeaders: { Link: 'Where the next page is, with `rel="next"`, while there is more.' },
          headers: {
            'Last-Event-Id':
              'The id of the newest event: where a mirror that begins with a full list goes on from.',
          },
          example: [eventExample],
          stream: {
            description:
              'Server-sent events, with `Accept: text/event-stream`. In each one `id` is the id of the event, `event` its type, and `data` the JSON of an `Event`. Lines that begin with a colon are comments that keep the connection open. A client that reads too slowly gets the event `slow_reader`, and the stream ends. Ignore events that you do not know.',
            example: `id: ${eventExample.id}\nevent: ${eventExample.type}\ndata: ${JSON.stringify(eventExample)}\n\n`,
          },
        },
      },
      errors: ['validation_failed', 'events_expired'],
      errorHeaders: { events_expired: { Link: 'Where the events that are kept begin, with `rel="next"`.' } },
      async read({ query: { after, limit } }, context) {
        const seesPrivate = context.caller.scopes.has(privateScope)
        const isStream = /(?:^|,)\s*text\/event-stream\s*(?:;|,|$)/i.test(context.header('accept') ?? '')
        const pruned = await prunedThrough(database.read)
        const position =
          (isStream ? resumePosition(context) : undefined) ?? after ?? (isStream ? undefined : pruned)
        const newest = await lastEventId(database.read)
        if (position !== undefined && (position < pruned || position > newest))
          throw expired(pruned, publicUrl)
        const headers = { 'Last-Event-Id': String(newest) }
        if (isStream) return { status: 200, stream: stream(position ?? newest, context), headers }
        const found = await eventsAfter(database.read, position ?? pruned, limit + 1, seesPrivate)
        const page = found.slice(0, limit)
        const json = `[${page.map(eventJson).join(',')}]`
        if (found.length === page.length) return { status: 200, json, headers }
        const Link = nextLink(publicUrl, '/v1/events', [
          ['after', String(page.at(-1)?.id)],
          ['limit', String(limit)],
        ])
        return { status: 200, json, headers: { ...headers, Link } }
      },
    }),
  ]
}

function resumePosition({ header }: Context): number | undefined {
  const id = header('last-event-id')
  if (id === undefined || id === '') return undefined
  if (/^\d{1,15}$/.test(id)) return Number(id)
  throw validationFailed([{ path: 'Last-Event-ID', message: 'must be the id of an event' }])
}

function expired(pruned: number, publicUrl: string | undefined): ApiError {
  const oldest = pruned + 1
  return new ApiError(
    'events_expired',
    `This position is not in the feed any more: the oldest event has the id ${oldest}. List what you mirror anew, then go on with after=${pruned}.`,
    { headers: { Link: nextLink(publicUrl, '/v1/events', [['after', String(pruned)]]) } },
  )
}
