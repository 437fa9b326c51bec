import {
  isOpen,
  isOrderMoveAllowed,
  isPetMoveAllowed,
  type OrderStatus,
  type Pet,
  petStatusOf,
} from './animal.ts'
import type { Event } from './requests.ts'

/** The state of the store according to the feed. Each event must be a legal next one; `problems` has those that are not. */
export class Replay {
  readonly pets = new Map<number, Pet>()
  readonly orders = new Map<number, { petId: number; status: OrderStatus }>()
  readonly problems: string[] = []
  /** Problems with two open orders for one animal. */
  readonly doubleOrders: string[] = []
  readonly #openOrders = new Map<number, number>()
  /** The status that the next event of an animal must give it, because of its order. */
  readonly #dueStatus = new Map<number, string>()

  constructor(feed: readonly Event[]) {
    for (const event of feed) {
      const [kind, what] = event.type.split('.')
      if (kind === 'pet') this.#applyPet(event, what as string)
      if (kind === 'order') this.#applyOrder(event, what as OrderStatus)
    }
    for (const [petId, status] of this.#dueStatus)
      this.problems.push(`The feed has no event that makes animal ${petId} ${status}, as its order requires.`)
  }

  #reject(event: Event, reason: string): void {
    this.problems.push(`Event ${event.id} (${event.type} ${JSON.stringify(event.data)}) ${reason}.`)
  }

  #applyPet(event: Event, what: string): void {
    const pet = event.data as unknown as Pet
    const previous = this.pets.get(pet.id)
    if (what === 'created') {
      if (previous) this.#reject(event, 'adds an animal that exists')
    } else if (!previous) this.#reject(event, 'is about an animal that does not exist')
    else if (what === 'deleted') {
      if (this.#openOrders.has(pet.id)) this.#reject(event, 'removes an animal with an open order')
    } else this.#checkUpdate(event, pet, previous)
    if (what === 'deleted') this.pets.delete(pet.id)
    else this.pets.set(pet.id, pet)
  }

  #checkUpdate(event: Event, pet: Pet, previous: Pet): void {
    const due = this.#dueStatus.get(pet.id)
    this.#dueStatus.delete(pet.id)
    const isByOrder = pet.name === previous.name
    if (due !== undefined && (!isByOrder || pet.status !== due))
      this.#reject(event, `is not the change to ${due} that the order of the animal requires`)
    else if (due === undefined && isByOrder)
      this.#reject(event, 'changes an animal without a request or an order')
    else if (due === undefined && pet.status !== previous.status && this.#openOrders.has(pet.id))
      this.#reject(event, 'changes the status of an animal with an open order')
    else if (!isPetMoveAllowed(previous.status, pet.status))
      this.#reject(event, `changes the status from ${previous.status}`)
  }

  #applyOrder(event: Event, status: OrderStatus): void {
    const { id, petId } = event.data as { id: number; petId: number }
    const previous = this.orders.get(id)
    const pet = this.pets.get(petId)
    this.orders.set(id, { petId, status })
    if (status === 'placed') {
      const other = this.#openOrders.get(petId)
      if (previous) this.#reject(event, 'places an order again')
      else if (other !== undefined)
        this.doubleOrders.push(
          `Event ${event.id} places order ${id} for animal ${petId}, whose order ${other} is open.`,
        )
      else if (pet?.status !== 'available') this.#reject(event, 'is for an animal that is not available')
      this.#openOrders.set(petId, id)
    } else if (!previous || previous.status === status || !isOrderMoveAllowed(previous.status, status))
      this.#reject(event, `follows the status ${previous?.status}`)
    if (!isOpen(status)) this.#openOrders.delete(petId)
    if (pet && pet.status !== petStatusOf[status]) this.#dueStatus.set(petId, petStatusOf[status])
  }
}
