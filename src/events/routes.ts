import * as z from 'zod'
import type { Database } from '../database/database.ts'
import { ApiError, validationFailed } from '../http/errors.ts'
import { type Context, type Operation, operation } from '../http/operation.ts'
import { nextLink } from '../http/paging.ts'
import { digitsText, int64, pageLimit } from '../http/validation.ts'
import type { Soon } from '../soon.ts'
import { eventTypes } from './event.ts'
import type { Hub } from './hub.ts'
import { eventsAfter, lastEventId, prunedThrough } from './queries.ts'
import { eventJson, eventStream, type StreamBounds } from './stream.ts'

const limitMax = 1_000
const streamsPerKeyMax = 100
const limitDefault = 100
const privateScope = 'keys:manage'
const scope = 'events:read'

const event = z
  .object({
    id: int64().meta({ description: 'Rising; the position to go on from.' }),
    type: z.enum(eventTypes),
    createdAt: z.iso.datetime(),
    data: z.record(z.string(), z.unknown()).meta({
      description:
        'The animal or category after the change; of one that was removed its `id`; of an order `id`, `petId`, `status` and `cancelReason`.',
    }),
  })
  .meta({ id: 'Event', description: 'Something that changed.' })
const events = z.array(event).meta({ id: 'Events', description: 'Events, oldest first.' })

const example = {
  id: 1017,
  type: 'pet.updated',
  createdAt: '2026-11-15T12:00:00.000Z',
  data: { id: 42, name: 'Milo', categoryId: 3, status: 'pending' },
}

export type EventRoutesOptions = {
  readonly database: Database
  readonly hub: Hub
  readonly publicUrl: string | undefined
  readonly streamBounds: StreamBounds
  /** The id up to which events are durable; later ones are treated as if they were not there. */
  durableThrough(): Soon<number>
  /** What a key may do at this moment; undefined where it is no longer valid. */
  scopesOf(token: string, now: number): Promise<ReadonlySet<string> | undefined>
  onFault(error: unknown): void
}

export function eventRoutes(options: EventRoutesOptions): Operation[] {
  const { database, hub, publicUrl, streamBounds, durableThrough, scopesOf, onFault } = options
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
        return eventsAfter(database.read, position, limit, scopes.has(privateScope), await durableThrough())
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
          description: 'How many events a page has at the most.',
        }),
      }),
      requestHeaders: { 'Last-Event-ID': 'Where a stream resumes; goes before `after`.' },
      answers: {
        200: {
          description: 'Events after the position.',
          schema: events,
          optionalHeaders: { Link: 'Where the next page is, with `rel="next"`, while there is more.' },
          headers: {
            'Last-Event-Id':
              'The id of the newest event: where a mirror that begins with a full list goes on from.',
          },
          example: [example],
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
        const through = await durableThrough()
        const newest = await lastEventId(database.read, through)
        if (position !== undefined && (position < pruned || position > newest))
          throw expired(pruned, publicUrl)
        const headers = { 'Last-Event-Id': String(newest) }
        if (isStream) return { status: 200, stream: stream(position ?? newest, context), headers }
        const found = await eventsAfter(database.read, position ?? pruned, limit + 1, seesPrivate, through)
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
