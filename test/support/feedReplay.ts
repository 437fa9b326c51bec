import assert from 'node:assert/strict'
import { type JsonValue, parseJson, toJson } from '../../src/api/json.ts'
import { isOrderTransitionAllowed, type OrderStatus, petStatusForOrder } from '../../src/orders/order.ts'

/** A resource with exact numbers. */
export type Item = { [name: string]: JsonValue } & { id: bigint }
export type FeedEvent = { id: bigint; type: string; createdAt: string; data: Item }

const kinds = ['pet', 'category', 'order', 'key'] as const
export type Kind = (typeof kinds)[number]

/** The items of a JSON array. Writing them as JSON gives the same bytes. */
export function parseItems<T = Item>(text: string): T[] {
  const items = parseJson(text)
  assert.equal(toJson(items), text)
  return items as unknown as T[]
}

/** The parts of an item that its events show. */
export const shownInEvents: Record<Kind, (item: Item) => string> = {
  pet: toJson,
  category: toJson,
  order: ({ id, petId, status, cancelReason }) => toJson({ id, petId, status, cancelReason }),
  // A key that is used has no event.
  key: (key) => toJson({ ...key, lastUsedAt: undefined }),
}

/** The state of the store according to the feed. Every event must be a legal next one. */
export class FeedReplay {
  readonly items: Record<Kind, Map<bigint, Item>> = {
    pet: new Map(),
    category: new Map(),
    order: new Map(),
    key: new Map(),
  }
  /** How often each change has happened. */
  readonly effects = new Map<string, number>()
  /** The effects of holds that expired. */
  readonly expiries = new Set<string>()
  /** Pets whose status was last changed by an order. */
  readonly changedByOrder = new Set<bigint>()
  /** The open order of each pet. */
  readonly openOrders = new Map<bigint, bigint>()
  /** The status that the next event of a pet must have, because of its order. */
  readonly #nextStatus = new Map<bigint, string>()
  readonly #holdEndsAt = new Map<bigint, number>()
  readonly #holdMs: number

  constructor(holdMs: number) {
    this.#holdMs = holdMs
  }

  apply({ type, createdAt, data }: FeedEvent): void {
    const [kind, what] = type.split('.') as [Kind, string]
    const previous = this.items[kind].get(data.id)
    const isFirst = what === 'created' || what === 'placed'
    assert.equal(previous === undefined, isFirst, `${type} of ${toJson(data)}`)
    if (kind === 'pet') this.#applyPet(what, data, previous)
    if (kind === 'order') this.#applyOrder(data, previous, Date.parse(createdAt))
    if (kind === 'category') this.#applyCategory(what, data, previous)
    if (kind === 'key') this.#applyKey(what, data, previous)
    if (what === 'deleted') this.items[kind].delete(data.id)
    else this.items[kind].set(data.id, data)
  }

  /** No transaction is visible in part. */
  assertComplete(): void {
    assert.deepEqual([...this.#nextStatus], [], 'every pet has the status that its order requires')
  }

  #applyPet(what: string, pet: Item, previous: Item | undefined): void {
    const required = this.#nextStatus.get(pet.id)
    if (required !== undefined) assert.equal(pet.status, required, `pet ${pet.id} follows its order`)
    this.#nextStatus.delete(pet.id)
    if (what === 'deleted') {
      assert.ok(!this.openOrders.has(pet.id), `pet ${pet.id} with an open order was removed`)
      this.changedByOrder.delete(pet.id)
      this.#count(`pet ${pet.id} removed`)
      return
    }
    assert.ok(this.items.category.has(pet.categoryId as bigint), `pet ${pet.id} has a category`)
    if (this.openOrders.has(pet.id)) assert.equal(pet.status, 'pending', `pet ${pet.id} has an open order`)
    assert.notEqual(toJson(pet), previous && toJson(previous), 'there is no event without a change')
    if (pet.name !== previous?.name) this.#count(`pet named ${pet.name}`)
    if (pet.status === previous?.status) return
    // Orders do not change the name, and all other requests do.
    if (pet.name === previous?.name) this.changedByOrder.add(pet.id)
    else this.changedByOrder.delete(pet.id)
  }

  #applyOrder(order: Item, previous: Item | undefined, at: number): void {
    const petId = order.petId as bigint
    const status = order.status as OrderStatus
    const pet = this.items.pet.get(petId)
    assert.ok(!this.#nextStatus.has(petId), `pet ${petId} follows its previous order`)
    if (!previous) {
      assert.equal(pet?.status, 'available', `order ${order.id} is for a pet that is available`)
      assert.ok(!this.openOrders.has(petId), `pet ${petId} has one open order`)
      this.openOrders.set(petId, order.id)
      this.#holdEndsAt.set(order.id, at + this.#holdMs)
      this.#nextStatus.set(petId, petStatusForOrder[status])
      this.#count(`order for ${petId}`)
      return
    }
    const from = previous.status as OrderStatus
    assert.ok(from !== status && isOrderTransitionAllowed(from, status), `${from} to ${status}`)
    assert.equal(this.openOrders.get(petId), order.id)
    assert.equal(pet?.status, 'pending')
    const isDue = from === 'placed' && at >= (this.#holdEndsAt.get(order.id) as number)
    assert.equal(order.cancelReason === 'hold_expired', isDue, `order ${order.id} expires when it is due`)
    const effect = `order ${order.id} ${status}`
    if (isDue) this.expiries.add(effect)
    this.#count(effect)
    if (status === 'approved') return
    this.openOrders.delete(petId)
    this.#nextStatus.set(petId, petStatusForOrder[status])
  }

  #applyCategory(what: string, category: Item, previous: Item | undefined): void {
    if (what === 'deleted') {
      const isUsed = [...this.items.pet.values()].some(({ categoryId }) => categoryId === category.id)
      assert.ok(!isUsed, `category ${category.id} in use was removed`)
      this.#count(`category ${category.id} removed`)
      return
    }
    if (category.name === undefined) return
    assert.notEqual(category.name, previous?.name, 'there is no event without a change')
    this.#count(`category named ${category.name}`)
  }

  #applyKey(what: string, key: Item, previous: Item | undefined): void {
    assert.equal(previous?.revokedAt, undefined, `key ${key.id} changes after it was revoked`)
    const effects: Record<string, string> = { created: `named ${key.name}`, updated: `${key.id} rotated` }
    this.#count(`key ${effects[what] ?? `${key.id} ${what}`}`)
  }

  #count(effect: string): void {
    this.effects.set(effect, (this.effects.get(effect) ?? 0) + 1)
  }
}
