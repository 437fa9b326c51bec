import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import type { Database } from '../../src/database/database.ts'
import {
  isOrderTransitionAllowed,
  type OrderStatus,
  orderStatuses,
  petStatusForOrder,
} from '../../src/orders/order.ts'
import { type PetStatus, petStatuses } from '../../src/pets/pet.ts'
import { eventually } from './eventually.ts'
import { hourMs } from './orderClient.ts'
import { amplePlan } from './responses.ts'
import { startTestService, type TestService } from './service.ts'

const stepsPerRun = 220
const holdMs = 2 * hourMs

type EventRow = { id: number; type: string; created_at: number; data: string }
type ModelOrder = { petId: number; status: OrderStatus; holdExpiresAt: number }

/** The state according to the events. Every event must be a legal next one. */
class Mirror {
  readonly pets = new Map<number, PetStatus>()
  readonly orders = new Map<number, ModelOrder>()
  lastEventId = 0
  sales = 0
  expiredHolds = 0

  openOrderOf(petId: number): ModelOrder | undefined {
    return [...this.orders.values()].find(
      (order) => order.petId === petId && (order.status === 'placed' || order.status === 'approved'),
    )
  }

  apply({ id, type, created_at, data }: EventRow): void {
    assert.ok(id > this.lastEventId)
    this.lastEventId = id
    const about = JSON.parse(data)
    if (type === 'pet.created') this.pets.set(about.id, about.status)
    if (type === 'pet.updated') this.#movePet(about.id, about.status)
    if (type === 'pet.deleted') {
      assert.equal(this.openOrderOf(about.id), undefined, 'a pet with an open order was removed')
      this.pets.delete(about.id)
    }
    if (type === 'order.placed') {
      assert.equal(this.pets.get(about.petId), 'available', 'an unavailable pet was ordered')
      assert.equal(this.openOrderOf(about.petId), undefined, 'a pet has two open orders')
      const order = { petId: about.petId, status: about.status, holdExpiresAt: created_at + holdMs }
      this.orders.set(about.id, order)
    } else if (type.startsWith('order.')) this.#moveOrder(about.id, about, created_at)
  }

  #moveOrder(
    id: number,
    { status, cancelReason }: { status: OrderStatus; cancelReason?: string },
    at: number,
  ) {
    const order = this.orders.get(id)
    assert.ok(order)
    assert.ok(
      order.status !== status && isOrderTransitionAllowed(order.status, status),
      `${order.status} to ${status}`,
    )
    const isDue = order.status === 'placed' && at >= order.holdExpiresAt
    assert.equal(
      cancelReason === 'hold_expired',
      isDue,
      'an order is cancelled for hold_expired exactly if its hold has expired',
    )
    assert.equal(this.pets.get(order.petId), 'pending')
    order.status = status
    if (isDue) this.expiredHolds++
    if (status === 'delivered') this.sales++
  }

  #movePet(id: number, status: PetStatus): void {
    const open = this.openOrderOf(id)
    if (open) assert.equal(status, 'pending', 'a pet with an open order is not pending')
    this.pets.set(id, status)
  }
}

/** The expected response: the HTTP status, and the new status of the pet or order. */
type Expected = { status: number; becomes?: string }

/** A model of the rules, applied to the current state. */
class Rules {
  readonly #mirror: Mirror
  readonly #now: number

  constructor(mirror: Mirror, now: number) {
    this.#mirror = mirror
    this.#now = now
  }

  place(petId: number): Expected {
    const pet = this.#petStatus(petId)
    if (pet === undefined) return { status: 404 }
    return pet === 'available' ? { status: 201, becomes: 'placed' } : { status: 409 }
  }

  moveOrder(id: number, to: OrderStatus): Expected {
    const order = this.#mirror.orders.get(id)
    if (!order) return { status: 404 }
    return isOrderTransitionAllowed(this.#orderStatus(order), to)
      ? { status: 200, becomes: to }
      : { status: 409 }
  }

  movePet(id: number, to: PetStatus): Expected {
    const from = this.#petStatus(id)
    if (from === undefined) return { status: 404 }
    if (from !== to && (this.#isOrdered(id) || (from === 'sold' && to === 'pending'))) return { status: 409 }
    return { status: 200, becomes: to }
  }

  removePet(id: number): Expected {
    if (!this.#mirror.pets.has(id)) return { status: 404 }
    return { status: this.#isOrdered(id) ? 409 : 204 }
  }

  /** An expired hold counts as cancelled, even before the service has processed it. */
  #orderStatus({ status, holdExpiresAt }: ModelOrder): OrderStatus {
    return status === 'placed' && this.#now >= holdExpiresAt ? 'cancelled' : status
  }

  #isOrdered(petId: number): boolean {
    const order = this.#mirror.openOrderOf(petId)
    return order !== undefined && this.#orderStatus(order) !== 'cancelled'
  }

  #petStatus(id: number): PetStatus | undefined {
    const order = this.#mirror.openOrderOf(id)
    return order ? petStatusForOrder[this.#orderStatus(order)] : this.#mirror.pets.get(id)
  }
}

type Request =
  | { what: 'add'; status: PetStatus }
  | { what: 'order'; pick: number }
  | { what: 'move order'; pick: number; status: OrderStatus }
  | { what: 'change pet'; pick: number; status: PetStatus }
  | { what: 'remove pet'; pick: number }

class Pair {
  readonly mirror = new Mirror()
  readonly #service: TestService
  readonly #key: string
  readonly #store: Database
  readonly #pets: number[] = []
  readonly #orders: number[] = []

  constructor(service: TestService, key: string, database: Database) {
    this.#service = service
    this.#key = key
    this.#store = database
  }

  /** A single request: the rules determine the response. */
  async one(request: Request): Promise<void> {
    const expected = this.#expected(request)
    const response = await this.#send(request)
    assert.equal(response.status, expected.status, response.text)
    if (expected.becomes !== undefined) assert.equal(response.json.status, expected.becomes)
    await this.compare()
  }

  /** Simultaneous requests: any order is correct, if the events are a sequence that the rules allow. */
  async several(requests: Request[]): Promise<void> {
    const responses = await Promise.all(requests.map((request) => this.#send(request)))
    for (const { status, text } of responses) assert.ok([200, 201, 204, 404, 409].includes(status), text)
    await this.compare()
  }

  /** Several orders for one pet, shortly before or after its hold expires. */
  async contest(pick: number, adopters: number): Promise<void> {
    const petId = this.#pick(this.#pets, pick)
    const expected = new Rules(this.mirror, this.#service.now()).place(petId)
    const all = Array.from({ length: adopters }, () => this.#send({ what: 'order', pick }))
    const placed = (await Promise.all(all)).filter(({ status }) => status === 201)
    assert.equal(placed.length, expected.status === 201 ? 1 : 0)
    await this.compare()
  }

  advance(minutes: number): void {
    this.#service.advance(minutes * 60_000)
  }

  async allDueLapse(): Promise<void> {
    await eventually('no hold is overdue', async () => {
      await this.compare()
      const now = this.#service.now()
      return [...this.mirror.orders.values()].every(
        ({ status, holdExpiresAt }) => status !== 'placed' || now < holdExpiresAt,
      )
    })
  }

  /** A snapshot in which every event has an id: a hold may expire after the ids were given. */
  async #snapshot() {
    for (;;) {
      await this.#store.readableThrough()
      const found = await this.#store.snapshot(async (db) => ({
        hasEventWithoutId: await db
          .selectFrom('events')
          .select('type')
          .where('id', 'is', null)
          .executeTakeFirst(),
        events: await db
          .selectFrom('events')
          .selectAll()
          .where('id', '>', this.mirror.lastEventId)
          .orderBy('id')
          .execute(),
        pets: await db.selectFrom('pets').select(['id', 'status']).orderBy('id').execute(),
        orders: await db.selectFrom('orders').select(['id', 'status']).orderBy('id').execute(),
        counts: await db.dialect.counters(db, petStatuses),
      }))
      if (!found.hasEventWithoutId) return found
    }
  }

  /** Compares a snapshot of the database with the state according to the events. */
  async compare(): Promise<void> {
    const { events, pets, orders, counts } = await this.#snapshot()
    for (const event of events) this.mirror.apply(event)
    const known = (map: Map<number, unknown>) => [...map].toSorted(([a], [b]) => a - b)
    assert.deepEqual(
      pets.map(({ id, status }) => [id, status]),
      known(this.mirror.pets),
    )
    assert.deepEqual(
      orders.map(({ id, status }) => [id, status]),
      known(this.mirror.orders).map(([id, order]) => [id, (order as ModelOrder).status]),
    )
    for (const status of petStatuses) {
      const counted = pets.filter((pet) => pet.status === status).length
      assert.equal(counts[status], counted, 'the inventory is correct')
    }
    for (const { petId, status } of this.mirror.orders.values()) {
      if (status === 'placed' || status === 'approved') assert.equal(this.mirror.pets.get(petId), 'pending')
    }
  }

  #expected(request: Request): Expected {
    const rules = new Rules(this.mirror, this.#service.now())
    switch (request.what) {
      case 'add':
        return { status: 201, becomes: request.status }
      case 'order':
        return rules.place(this.#pick(this.#pets, request.pick))
      case 'move order':
        return rules.moveOrder(this.#pick(this.#orders, request.pick), request.status)
      case 'change pet':
        return rules.movePet(this.#pick(this.#pets, request.pick), request.status)
      case 'remove pet':
        return rules.removePet(this.#pick(this.#pets, request.pick))
    }
  }

  async #send(request: Request) {
    const send = (method: string, path: string, body?: unknown) =>
      this.#service.request(method, path, { key: this.#key, ...(body !== undefined && { body }) })
    switch (request.what) {
      case 'add': {
        const added = await send('POST', '/v1/pets', { name: 'A', categoryId: 1, status: request.status })
        this.#pets.push(added.json.id)
        return added
      }
      case 'order': {
        const placed = await send('POST', '/v1/store/orders', { petId: this.#pick(this.#pets, request.pick) })
        if (placed.status === 201) this.#orders.push(placed.json.id)
        return placed
      }
      case 'move order':
        return send('PATCH', `/v1/store/orders/${this.#pick(this.#orders, request.pick)}`, {
          status: request.status,
        })
      case 'change pet':
        return send('PATCH', `/v1/pets/${this.#pick(this.#pets, request.pick)}`, { status: request.status })
      case 'remove pet':
        return send('DELETE', `/v1/pets/${this.#pick(this.#pets, request.pick)}`)
    }
  }

  /** Prefers the newest ones, which are most likely to conflict. */
  #pick(ids: readonly number[], pick: number): number {
    return ids.at(-1 - (pick % Math.min(ids.length, 6))) ?? 1
  }
}

const pick = fc.nat({ max: 10_000 })
const petStatus = fc.constantFrom(...petStatuses)
const request: fc.Arbitrary<Request> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('add' as const),
      status: fc.oneof({ weight: 4, arbitrary: fc.constant('available' as const) }, petStatus),
    }),
  },
  { weight: 5, arbitrary: fc.record({ what: fc.constant('order' as const), pick }) },
  {
    weight: 9,
    arbitrary: fc.record({
      what: fc.constant('move order' as const),
      pick,
      // Weighted towards final statuses.
      status: fc.constantFrom(
        ...orderStatuses,
        'approved' as const,
        'delivered' as const,
        'delivered' as const,
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('change pet' as const), pick, status: petStatus }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('remove pet' as const), pick }) },
)

type Step = { what: string; requests: number; run(pair: Pair): Promise<void> }
const step = <T>(
  what: string,
  arbitrary: fc.Arbitrary<T>,
  run: (pair: Pair, choice: T) => Promise<void> | void,
  requests: (choice: T) => number,
) =>
  arbitrary.map(
    (choice): Step => ({
      what: `${what} ${fc.stringify(choice)}`,
      requests: requests(choice),
      run: async (pair) => run(pair, choice),
    }),
  )
const anyStep = fc.oneof(
  {
    weight: 12,
    arbitrary: step(
      'one',
      request,
      (pair, choice) => pair.one(choice),
      () => 1,
    ),
  },
  {
    weight: 3,
    arbitrary: step(
      'several at once',
      fc.array(request, { minLength: 2, maxLength: 10 }),
      (pair, choice) => pair.several(choice),
      ({ length }) => length,
    ),
  },
  {
    weight: 1,
    arbitrary: step(
      'simultaneous orders',
      fc.tuple(pick, fc.integer({ min: 2, max: 8 })),
      (pair, [which, adopters]) => pair.contest(which, adopters),
      ([, adopters]) => adopters,
    ),
  },
  {
    weight: 3,
    arbitrary: step(
      'minutes pass',
      fc.integer({ min: 1, max: 70 }),
      (pair, minutes) => pair.advance(minutes),
      () => 0,
    ),
  },
)
const steps = fc.array(anyStep, { minLength: stepsPerRun, maxLength: stepsPerRun })

/** Compares the service with a model of the orders, after each of many sequential and simultaneous requests. */
export async function compareOrdersWithModel(t: TestContext, runs: number): Promise<void> {
  const done = { requests: 0, sales: 0, expiredHolds: 0 }
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const service = await startTestService({ PETSTORE_ORDER_HOLD_HOURS: String(holdMs / hourMs) })
      const pair = new Pair(service, (await service.makeKey(amplePlan)).key, await service.openDatabase())
      try {
        for (const { what, requests, run } of list) {
          await run(pair).catch((error: unknown) => {
            throw new Error(`The store and the model disagree at: ${what}`, { cause: error })
          })
          done.requests += requests
        }
        await pair.allDueLapse()
        done.sales += pair.mirror.sales
        done.expiredHolds += pair.mirror.expiredHolds
      } finally {
        await service.stop()
      }
    }),
    // Shrinking repeats whole runs. The seed and the step are enough to reproduce a failure.
    { numRuns: runs, endOnFailure: true },
  )
  t.diagnostic(`${done.requests} requests, ${done.sales} sales, ${done.expiredHolds} expired holds`)
  // A single run varies more than the mean of many.
  const least = runs === 1 ? 1 : 3 * runs
  const isEnough = done.requests > 200 * runs && done.sales >= least && done.expiredHolds >= least
  assert.ok(isEnough, JSON.stringify(done))
}
