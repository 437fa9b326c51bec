import * as z from 'zod'
import { ApiError, validationFailed } from '../api/errors.ts'
import { type Context, type Operation, operation, type Principal } from '../api/operation.ts'
import { nextLink } from '../api/pagination.ts'
import { digitsText, pageLimit } from '../api/validation.ts'
import type { Database } from '../database/database.ts'
import type { MaybePromise } from '../maybePromise.ts'
import type { EventBroadcaster } from './broadcaster.ts'
import { eventsScope, privateEventsScope } from './event.ts'
import { serializeEvent } from './format.ts'
import { eventsAfter, lastEventId, prunedThrough } from './queries.ts'
import { type EventKind, eventExample, eventsSchema } from './schemas.ts'
import type { FindStreamAccess } from './streamAccess.ts'
import { StreamCounter } from './streamCounter.ts'

const limitMax = 1_000
const limitDefault = 100
/** When a client that has too many streams may try again: it has to close one first. */
const retrySeconds = '5'

export type EventRoutesOptions = {
  readonly database: Database
  readonly broadcaster: EventBroadcaster
  readonly findAccess: FindStreamAccess
  /** How many streams there are at once, of all keys. */
  readonly streamsMax: number
  readonly publicUrl: string | undefined
  /** The id up to which events are durable; later ones are treated as if they were not there. */
  durableThrough(): MaybePromise<number>
  /** What events there are, for the description of the API. */
  readonly kinds: readonly EventKind[]
}

export function eventRoutes(options: EventRoutesOptions): Operation[] {
  const { database, broadcaster, findAccess, publicUrl, durableThrough, kinds } = options
  const counter = new StreamCounter(options.streamsMax)

  async function stream(after: number, newest: number, { keyId, token }: Principal) {
    const access = await findAccess(token)
    if (!access) throw new ApiError('invalid_api_key', 'This API key ended while the request was served.')
    const headers = { 'Retry-After': retrySeconds }
    const outcome = counter.add(keyId, access.streamsMax)
    if (outcome === 'instance_limit') throw new ApiError('unavailable', undefined, { headers })
    if (outcome === 'key_limit') {
      const message = `This API key has ${access.streamsMax} event streams open, which is its limit: close one, or use one for several purposes.`
      throw new ApiError('too_many_streams', message, { headers })
    }
    return broadcaster.open({ keyId, token, access, after, newest, onClose: () => counter.remove(keyId) })
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
      scope: eventsScope,
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
          schema: { pattern: '^[0-9]{0,16}$' },
        },
      },
      responses: {
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
      errors: ['validation_failed', 'events_expired', 'too_many_streams'],
      errorHeaders: { events_expired: { Link: 'Where the events that are kept begin, with `rel="next"`.' } },
      async read({ query: { after, limit } }, context) {
        const seesPrivate = context.principal.scopes.has(privateEventsScope)
        const isStream = /(?:^|,)\s*text\/event-stream\s*(?:;|,|$)/i.test(context.header('accept') ?? '')
        const pruned = await prunedThrough(database.read)
        const position =
          (isStream ? resumePosition(context) : undefined) ?? after ?? (isStream ? undefined : pruned)
        const through = await durableThrough()
        const newest = await lastEventId(database.read, through)
        if (position !== undefined && (position < pruned || position > newest))
          throw expired(position, pruned, newest, publicUrl)
        const headers = { 'Last-Event-Id': String(newest) }
        if (isStream)
          return { status: 200, stream: await stream(position ?? newest, newest, context.principal), headers }
        const found = await eventsAfter(database.read, position ?? pruned, limit + 1, seesPrivate, through)
        const page = found.slice(0, limit)
        const json = `[${page.map(serializeEvent).join(',')}]`
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
  if (/^\d{1,16}$/.test(id) && Number.isSafeInteger(Number(id))) return Number(id)
  throw validationFailed([{ path: 'Last-Event-ID', message: 'must be the id of an event' }])
}

/** The position is older than the events that are kept, or ahead of them, as one of another store may be. */
function expired(position: number, pruned: number, newest: number, publicUrl: string | undefined): ApiError {
  const isAhead = position > newest
  const next = isAhead ? newest : pruned
  const reason = isAhead
    ? `This position is ahead of the feed, whose newest event has the id ${newest}.`
    : `This position is no longer in the feed: the oldest event has the id ${pruned + 1}.`
  return new ApiError(
    'events_expired',
    `${reason} List again what you mirror, then continue with after=${next}.`,
    { headers: { Link: nextLink(publicUrl, '/v1/events', [['after', String(next)]]) } },
  )
}
