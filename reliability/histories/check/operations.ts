import { type Call, describeCall } from '../history.ts'
import {
  type AnimalState,
  add,
  applyWith,
  change,
  type Effect,
  move,
  type OrderStatus,
  type Pet,
  petText,
  placement,
  removal,
  shows,
  showsOrders,
} from './animal.ts'
import type { Operation } from './linearize.ts'
import {
  type Attempts,
  attemptsIn,
  type Event,
  isSuccess,
  type Order,
  orderIn,
  ordersIn,
  petIn,
  petsIn,
  queryOf,
  requestOf,
} from './requests.ts'

/** A request as an operation on one animal. */
export type AnimalOperation = Operation<AnimalState> & {
  readonly petId: number
  readonly text: string
  /** The type of the event of its change, and what tells this event from others of the animal. */
  readonly event?: { readonly type: string; readonly subject: string } | undefined
  readonly isSuccess: boolean
  /** The animal in the response to a change. */
  readonly result?: string | undefined
}

const listDefault = 20
const listMax = 100

/** What a history says about requests whose response is missing, and about versions. */
class Evidence {
  readonly #petIds = new Map<string, number>()
  readonly #orderIds = new Map<string, number>()
  readonly petOfOrder = new Map<number, number>()
  /** The content of each version. */
  readonly versions = new Map<string, string>()

  constructor(calls: readonly Call[], feed: readonly Event[]) {
    for (const { type, data } of feed)
      if (type === 'pet.created') this.#petIds.set(String(data.name), Number(data.id))
    for (const call of calls.filter(isSuccess)) {
      const { kind } = requestOf(call)
      if (kind === 'orders') for (const order of ordersIn(call)) this.#noteOrder(order)
      if (kind === 'place' || kind === 'move') this.#noteOrder(orderIn(call))
      if (kind === 'list') for (const { id, name } of petsIn(call)) this.#petIds.set(name, id)
      const { etag } = call.response ?? {}
      if (etag !== undefined && ['create', 'get', 'change'].includes(kind))
        this.versions.set(etag, petText(petIn(call)))
    }
  }

  #noteOrder({ id, petId, note }: Order): void {
    this.petOfOrder.set(id, petId)
    if (note !== undefined) this.#orderIds.set(note, id)
  }

  /** Undefined if no response and no event shows the animal that the request has added. */
  petIdOf = ({ first, responded }: Attempts): number | undefined =>
    responded ? petIn(responded).id : this.#petIds.get(String(first.body?.name))

  orderIdOf = ({ first, responded }: Attempts): number | undefined =>
    responded && isSuccess(responded) ? orderIn(responded).id : this.#orderIds.get(String(first.body?.note))
}

/** All operations by animal. Every change gives its animal a name of its own, and every order has a note of its own. */
export function operationsIn(calls: readonly Call[], feed: readonly Event[]): Map<number, AnimalOperation[]> {
  const evidence = new Evidence(calls, feed)
  const all = attemptsIn(calls).flatMap((attempts) => changesOf(attempts, evidence))
  const byPet = Map.groupBy(all, ({ petId }) => petId)
  const lives = [...byPet].map(([id, operations]) => lifeOf(id, operations))
  for (const call of calls) {
    if (!hasResponse(call)) continue
    for (const read of readsOf(call, lives)) byPet.get(read.petId)?.push(read)
  }
  return byPet
}

/** The longest time in which an animal may exist. */
type Life = { readonly id: number; readonly from: number; readonly to: number }

function lifeOf(id: number, operations: readonly AnimalOperation[]): Life {
  const added = operations.find(({ event }) => event?.type === 'pet.created')
  const removed = operations.find((one) => one.isSuccess && one.event?.type === 'pet.deleted')
  return {
    id,
    from: added?.startedAt ?? Number.POSITIVE_INFINITY,
    to: removed?.endedAt ?? Number.POSITIVE_INFINITY,
  }
}

const hasResponse = ({ outcome, response }: Call) => outcome === 'known' && response !== undefined

function operation(
  petId: number,
  effect: Effect,
  { first, responded, startedAt, endedAt }: Attempts,
  event?: AnimalOperation['event'],
): AnimalOperation {
  const is = responded !== undefined && isSuccess(responded)
  const isShown = is && /^pet\.(?:created|updated)$/.test(event?.type ?? '')
  const result = isShown ? petText(petIn(responded)) : undefined
  return {
    petId,
    startedAt,
    endedAt,
    event,
    text: describeCall(responded ?? first),
    isSuccess: is,
    result,
    apply(state) {
      const after = applyWith(effect, responded?.response, state)
      return result !== undefined && after?.pet && petText(after.pet) !== result ? undefined : after
    },
  }
}

function changesOf(attempts: Attempts, evidence: Evidence): AnimalOperation[] {
  const { first, responded } = attempts
  const request = requestOf(first)
  const { body = {} } = first
  const ifMatch =
    first.ifMatch === undefined ? undefined : (evidence.versions.get(first.ifMatch) ?? 'unknown')
  if (request.kind === 'create') {
    if (responded && !isSuccess(responded)) return []
    const id = evidence.petIdOf(attempts)
    if (id === undefined) return []
    const asked = { status: 'available', ...body, id } as Pet
    const event = { type: 'pet.created', subject: asked.name }
    return [operation(id, add(responded ? petIn(responded) : asked), attempts, event)]
  }
  if (request.kind === 'change') {
    const event = { type: 'pet.updated', subject: String(body.name) }
    return [operation(request.petId, change(body, { ifMatch }), attempts, event)]
  }
  if (request.kind === 'remove')
    return [operation(request.petId, removal({ ifMatch }), attempts, { type: 'pet.deleted', subject: '' })]
  if (request.kind === 'place') {
    const id = evidence.orderIdOf(attempts)
    if (id === undefined && !responded) return []
    const event = { type: 'order.placed', subject: String(id) }
    return [operation(Number(body.petId), placement(id ?? 0), attempts, id === undefined ? undefined : event)]
  }
  if (request.kind === 'move') {
    const petId = evidence.petOfOrder.get(request.orderId)
    const status = body.status as OrderStatus
    const event = { type: `order.${status}`, subject: String(request.orderId) }
    return petId === undefined ? [] : [operation(petId, move(request.orderId, status), attempts, event)]
  }
  return []
}

/** A read of several animals is a read of each of them: the interface does not promise that a list is of one moment. */
function readsOf(call: Call, lives: readonly Life[]): AnimalOperation[] {
  const request = requestOf(call)
  const { startedAt, endedAt } = call
  const attempts = { first: call, responded: call, all: [call], startedAt, endedAt }
  if (request.kind === 'get')
    return [operation(request.petId, isSuccess(call) ? shows(petIn(call)) : showsNone, attempts)]
  if (!isSuccess(call)) return []
  if (request.kind === 'list') {
    const shown = new Map(petsIn(call).map((pet) => [pet.id, pet]))
    const ids = new Set([...shown.keys(), ...expectedIn(call, lives)])
    return [...ids].map((id) => operation(id, shows(shown.get(id)), attempts))
  }
  const petId = queryOf(call).get('petId')
  if (request.kind !== 'orders' || petId === null || ordersIn(call).length >= listMax) return []
  return [operation(Number(petId), showsOrders(ordersIn(call)), attempts)]
}

/** A read that gets 404. */
const showsNone: Effect = (state) => (state.pet ? [] : ['pet_not_found'])

/** The animals that a list shows if they exist. Those that cannot exist during the call are left out. */
function expectedIn(call: Call, lives: readonly Life[]): number[] {
  const query = queryOf(call)
  const asked = query.getAll('id').map(Number)
  if (asked.length > 0) return asked
  if (['status', 'categoryId', 'cursor'].some((name) => query.has(name))) return []
  const shown = petsIn(call)
  const lowest = shown.length < Number(query.get('limit') ?? listDefault) ? 0 : (shown.at(-1)?.id ?? 0)
  return lives
    .filter(({ id, from, to }) => id >= lowest && from < call.endedAt && to > call.startedAt)
    .map(({ id }) => id)
}
