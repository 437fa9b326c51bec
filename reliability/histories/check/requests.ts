import type { Call } from '../history.ts'
import type { OrderStatus, Pet } from './animal.ts'

/** What a call asks for, from its method and path. */
export type Request =
  | { readonly kind: 'create' | 'list' | 'place' | 'orders' | 'inventory' | 'events' | 'other' }
  | { readonly kind: 'get' | 'change' | 'remove'; readonly petId: number }
  | { readonly kind: 'move'; readonly orderId: number }

export function requestOf({ method, path }: Call): Request {
  const [place = ''] = path.split('?')
  const petId = /^\/v1\/pets\/(\d+)$/.exec(place)?.[1]
  const orderId = /^\/v1\/store\/orders\/(\d+)$/.exec(place)?.[1]
  const key = `${method} ${petId ? '/pet' : orderId ? '/order' : place}`
  const kinds: Record<string, Request> = {
    'POST /v1/pets': { kind: 'create' },
    'GET /v1/pets': { kind: 'list' },
    'GET /pet': { kind: 'get', petId: Number(petId) },
    'PATCH /pet': { kind: 'change', petId: Number(petId) },
    'DELETE /pet': { kind: 'remove', petId: Number(petId) },
    'POST /v1/store/orders': { kind: 'place' },
    'GET /v1/store/orders': { kind: 'orders' },
    'PATCH /order': { kind: 'move', orderId: Number(orderId) },
    'GET /v1/store/inventory': { kind: 'inventory' },
    'GET /v1/events': { kind: 'events' },
  }
  return kinds[key] ?? { kind: 'other' }
}

export const queryOf = ({ path }: Call): URLSearchParams => new URLSearchParams(path.split('?')[1] ?? '')

export type Order = { id: number; petId: number; status: OrderStatus; note?: string }
export type Event = { id: number; type: string; createdAt: string; data: Record<string, unknown> }

export const isSuccess = ({ outcome, response }: Call): boolean =>
  outcome === 'known' && response !== undefined && response.status < 300
export const petIn = ({ response }: Call): Pet => response?.body as Pet
export const petsIn = ({ response }: Call): Pet[] => response?.body as Pet[]
export const orderIn = ({ response }: Call): Order => response?.body as Order
export const ordersIn = ({ response }: Call): Order[] => response?.body as Order[]
export const eventsIn = ({ response }: Call): Event[] => response?.body as Event[]

/** Calls that are attempts of the same request. Without an `Idempotency-Key`, each call is a request of its own. */
export type Attempts = {
  readonly first: Call
  /** The attempt with the first response, if there is one. */
  readonly responded: Call | undefined
  readonly all: readonly Call[]
  readonly startedAt: number
  readonly endedAt: number
}

/** The requests of a history that may have an effect or got a response. */
export function attemptsIn(calls: readonly Call[]): Attempts[] {
  const groups = Map.groupBy(calls, ({ number, idempotencyKey, path }) =>
    idempotencyKey === undefined ? number : `${path} ${idempotencyKey}`,
  )
  return [...groups.values()].flatMap((group) => {
    const all = group.filter(({ outcome }) => outcome !== 'failed')
    const [first] = all
    if (!first) return []
    const known = all.filter(({ outcome }) => outcome === 'known')
    const responded = known.toSorted((a, b) => a.endedAt - b.endedAt)[0]
    const startedAt = Math.min(...all.map((call) => call.startedAt))
    return { first, responded, all, startedAt, endedAt: responded?.endedAt ?? Number.POSITIVE_INFINITY }
  })
}
