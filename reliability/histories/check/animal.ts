import type { Response } from '../history.ts'

/** The rules of the interface for one animal and its orders. They are written again here, not taken from the service. */
export type PetStatus = 'available' | 'pending' | 'sold'
export type OrderStatus = 'placed' | 'approved' | 'delivered' | 'cancelled'
export type Pet = { id: number; name: string; categoryId: number; status: PetStatus }

export type AnimalState = {
  /** Undefined before it is added and after it is removed. */
  readonly pet: Pet | undefined
  /** The status of each order by its id. */
  readonly orders: ReadonlyMap<number, OrderStatus>
}

export const noAnimal: AnimalState = { pet: undefined, orders: new Map() }

export const petText = ({ id, name, categoryId, status }: Pet): string =>
  JSON.stringify([id, name, categoryId, status])

export const stateText = ({ pet, orders }: AnimalState): string =>
  `${pet ? petText(pet) : 'no animal'}, orders ${JSON.stringify([...orders])}`

const nextPetStatuses: Record<PetStatus, readonly PetStatus[]> = {
  available: ['pending', 'sold'],
  pending: ['available', 'sold'],
  sold: ['available'],
}
const nextOrderStatuses: Record<OrderStatus, readonly OrderStatus[]> = {
  placed: ['approved', 'cancelled'],
  approved: ['delivered', 'cancelled'],
  delivered: [],
  cancelled: [],
}
/** The status of an animal while its order has this status. */
export const petStatusOf = {
  placed: 'pending',
  approved: 'pending',
  delivered: 'sold',
  cancelled: 'available',
} as const satisfies Record<OrderStatus, PetStatus>

export const isPetMoveAllowed = (from: PetStatus, to: PetStatus): boolean =>
  from === to || nextPetStatuses[from].includes(to)
export const isOrderMoveAllowed = (from: OrderStatus, to: OrderStatus): boolean =>
  from === to || nextOrderStatuses[from].includes(to)
export const isOpen = (status: OrderStatus): boolean => nextOrderStatuses[status].length > 0

const hasOpenOrder = ({ orders }: AnimalState): boolean => orders.values().some(isOpen)
const withOrder = (state: AnimalState, id: number, status: OrderStatus): AnimalState => ({
  pet: state.pet && { ...state.pet, status: petStatusOf[status] },
  orders: new Map([...state.orders, [id, status]]),
})

/** What a request does to an animal: the state after it, or the codes of all errors that apply. */
export type Effect = (state: AnimalState) => AnimalState | readonly string[]

export const add =
  (pet: Pet): Effect =>
  ({ pet: existing, orders }) =>
    existing ? [] : { pet, orders }

/** `ifMatch` is the version that the animal must have. */
export type Condition = { readonly ifMatch?: string | undefined }
type Change = Partial<Omit<Pet, 'id'>>

const isOther = (pet: Pet, { ifMatch }: Condition) => ifMatch !== undefined && ifMatch !== petText(pet)

export const change =
  (fields: Change, condition: Condition): Effect =>
  (state) => {
    const { pet } = state
    if (!pet) return ['pet_not_found']
    const next: Pet = { ...pet, ...fields }
    const errors: string[] = []
    if (isOther(pet, condition)) errors.push('precondition_failed')
    if (next.status !== pet.status && hasOpenOrder(state)) errors.push('pet_has_open_order')
    if (!isPetMoveAllowed(pet.status, next.status)) errors.push('illegal_transition')
    if (errors.length > 0) return errors
    return petText(next) === petText(pet) ? state : { ...state, pet: next }
  }

export const removal =
  (condition: Condition): Effect =>
  (state) => {
    const { pet } = state
    if (!pet) return ['pet_not_found']
    const errors: string[] = []
    if (isOther(pet, condition)) errors.push('precondition_failed')
    if (hasOpenOrder(state)) errors.push('pet_has_open_order')
    return errors.length > 0 ? errors : { ...state, pet: undefined }
  }

export const placement =
  (orderId: number): Effect =>
  (state) => {
    if (!state.pet) return ['pet_not_found']
    if (state.pet.status !== 'available' || hasOpenOrder(state)) return ['pet_unavailable']
    return withOrder(state, orderId, 'placed')
  }

export const move =
  (orderId: number, status: OrderStatus): Effect =>
  (state) => {
    const from = state.orders.get(orderId)
    if (from === undefined) return ['order_not_found']
    if (!isOrderMoveAllowed(from, status)) return ['illegal_transition']
    return from === status ? state : withOrder(state, orderId, status)
  }

/** A read that shows the animal, or that it does not exist. */
export const shows =
  (pet: Pet | undefined): Effect =>
  (state) =>
    (state.pet && petText(state.pet)) === (pet && petText(pet)) ? state : []

/** A read of all orders for the animal. */
export const showsOrders =
  (orders: readonly { id: number; status: OrderStatus }[]): Effect =>
  (state) =>
    orders.length === state.orders.size && orders.every(({ id, status }) => state.orders.get(id) === status)
      ? state
      : []

/** The state after a request, if it can have had this response, or no response, in this state. */
export function applyWith(
  effect: Effect,
  response: Response | undefined,
  state: AnimalState,
): AnimalState | undefined {
  const after = effect(state)
  if (Array.isArray(after))
    return response && after.includes((response.body as { code?: string })?.code ?? '') ? state : undefined
  return response && response.status >= 400 ? undefined : (after as AnimalState)
}
