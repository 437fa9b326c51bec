import { setTimeout as pause } from 'node:timers/promises'
import type { Server } from '../../test/support/servers.ts'
import type { Call } from './history.ts'
import type { Recorder, Sent } from './recorder.ts'

export type Random = () => number

/** An animal that several callers use at the same time, with what they have last seen of it. */
type Animal = { readonly id: number; uses: number; etag?: string | undefined; orders: number[] }

export type CallersOptions = {
  readonly recorder: Recorder
  readonly instances: () => readonly Server[]
  readonly random: (stream: number) => Random
  readonly callers: number
}

const animalsAtOnce = 6
/** Bounds the search of the check. */
const usesMax = 150
const attemptsMax = 40
const thinkMaxMs = 25
const retryAfterMs = 100
const readEveryMs = 60
const pageMax = 1_000
const categories = 5
const statuses = ['available', 'pending', 'sold']
const moves = ['approved', 'delivered', 'cancelled', 'cancelled']

/** Callers that send random requests about a few animals, until `end` is called. */
export class Callers {
  readonly #options: CallersOptions
  readonly #animals: Animal[] = []
  #isOver = false
  #names = 0

  constructor(options: CallersOptions) {
    this.#options = options
  }

  /** Runs all callers, and a reader of the feed for each instance. */
  async run(): Promise<void> {
    const { callers, instances, random } = this.#options
    await Promise.all([
      ...Array.from({ length: callers }, (_, n) => new Caller(this, `caller ${n}`, random(n)).run()),
      ...instances().map((_, n) => this.#followFeed(n)),
    ])
  }

  end(): void {
    this.#isOver = true
  }

  get isOver(): boolean {
    return this.#isOver
  }

  name = (prefix: string): string => `${prefix} ${++this.#names}`

  send(caller: string, random: Random, sent: Sent): Promise<Call> {
    return this.#options.recorder.send(pick(this.#options.instances(), random), caller, sent)
  }

  /** One of the animals that are in use. Undefined if there are too few, so that the caller creates one. */
  animal(random: Random): Animal | undefined {
    if (this.#animals.length < animalsAtOnce) return undefined
    const animal = pick(this.#animals, random)
    if (++animal.uses > usesMax) this.drop(animal.id)
    return animal
  }

  use(id: number, etag: string | undefined): void {
    if (this.#animals.length < 2 * animalsAtOnce) this.#animals.push({ id, uses: 0, etag, orders: [] })
  }

  drop(id: number): void {
    const index = this.#animals.findIndex((animal) => animal.id === id)
    if (index !== -1) this.#animals.splice(index, 1)
  }

  ids = (): number[] => this.#animals.map(({ id }) => id)

  async #followFeed(index: number): Promise<void> {
    const { recorder, instances } = this.#options
    for (let after = 0; !this.#isOver; await pause(readEveryMs)) {
      const path = `/v1/events?after=${after}&limit=${pageMax}`
      const call = await recorder.send(instances()[index] as Server, `reader ${index}`, {
        method: 'GET',
        path,
      })
      if (call.outcome !== 'known' || call.response?.status !== 200) continue
      after = (call.response.body as { id: number }[]).at(-1)?.id ?? after
    }
  }
}

export const pick = <T>(list: readonly T[], random: Random): T =>
  list[Math.floor(random() * list.length)] as T

class Caller {
  readonly #all: Callers
  readonly #name: string
  readonly #random: Random
  readonly #actions: readonly [weight: number, act: (animal: Animal) => Promise<unknown>][] = [
    [20, (animal) => this.#get(animal)],
    [12, () => this.#list()],
    [14, (animal) => this.#change(animal)],
    [20, (animal) => this.#change(animal, animal.etag)],
    [14, (animal) => this.#order(animal)],
    [14, (animal) => this.#move(animal)],
    [4, (animal) => this.#listOrders(animal)],
    [3, (animal) => this.#remove(animal)],
    [2, () => this.#create()],
    [1, () => this.#send({ method: 'GET', path: '/v1/store/inventory' })],
  ]

  constructor(all: Callers, name: string, random: Random) {
    this.#all = all
    this.#name = name
    this.#random = random
  }

  async run(): Promise<void> {
    while (!this.#all.isOver) {
      const animal = this.#all.animal(this.#random)
      await (animal ? this.#act(animal) : this.#create())
      await pause(this.#random() * thinkMaxMs)
    }
  }

  #act(animal: Animal): Promise<unknown> {
    const all = this.#actions.flatMap(([weight, act]) => Array(weight).fill(act) as (typeof act)[])
    return pick(all, this.#random)(animal)
  }

  async #send(sent: Sent): Promise<Call> {
    const call = await this.#all.send(this.#name, this.#random, sent)
    if (call.outcome !== 'known') await pause(retryAfterMs * this.#random())
    return call
  }

  /** A request with an `Idempotency-Key` is sent until there is a response, sometimes once more. */
  async #sendOnce(sent: Sent): Promise<Call> {
    if (this.#random() < 0.4) return this.#send(sent)
    const repeated = { ...sent, idempotencyKey: this.#all.name('key').replace(' ', '-') }
    let call = await this.#send(repeated)
    for (let n = 1; n < attemptsMax && call.outcome !== 'known'; n++) call = await this.#send(repeated)
    return this.#random() < 0.2 ? this.#send(repeated) : call
  }

  async #create(): Promise<void> {
    const body = { name: this.#all.name('animal'), categoryId: 1 + Math.floor(this.#random() * categories) }
    const { response } = await this.#sendOnce({ method: 'POST', path: '/v1/pets', body })
    if (response?.status === 201) this.#all.use((response.body as { id: number }).id, response.etag)
  }

  async #get(animal: Animal): Promise<void> {
    this.#see(animal, await this.#send({ method: 'GET', path: `/v1/pets/${animal.id}` }))
  }

  /** Remembers the version, or that the animal was removed. */
  #see(animal: Animal, { response }: Call): void {
    if (response?.status === 404) this.#all.drop(animal.id)
    else if (response?.etag !== undefined) animal.etag = response.etag
  }

  async #list(): Promise<void> {
    const query =
      this.#random() < 0.7
        ? this.#all
            .ids()
            .map((id) => `id=${id}`)
            .join('&')
        : 'limit=50'
    await this.#send({ method: 'GET', path: `/v1/pets?${query || 'limit=50'}` })
  }

  async #change(animal: Animal, ifMatch?: string): Promise<void> {
    const body = {
      name: this.#all.name('name'),
      ...(this.#random() < 0.25 && { status: pick(statuses, this.#random) }),
      ...(this.#random() < 0.1 && { categoryId: 1 + Math.floor(this.#random() * categories) }),
    }
    const condition = ifMatch === undefined ? {} : { ifMatch }
    this.#see(
      animal,
      await this.#send({ method: 'PATCH', path: `/v1/pets/${animal.id}`, body, ...condition }),
    )
  }

  async #order(animal: Animal): Promise<void> {
    const body = { petId: animal.id, note: this.#all.name('note') }
    const { response } = await this.#sendOnce({ method: 'POST', path: '/v1/store/orders', body })
    if (response?.status === 201) this.#noteOrders(animal, [(response.body as { id: number }).id])
  }

  #noteOrders(animal: Animal, ids: readonly number[]): void {
    animal.orders = [...new Set([...ids, ...animal.orders])].slice(0, 3)
  }

  /** Mostly the newest order, which may be open. */
  async #move(animal: Animal): Promise<void> {
    const order = this.#random() < 0.8 ? animal.orders[0] : pick(animal.orders, this.#random)
    if (order === undefined) return this.#order(animal)
    const body = { status: pick(moves, this.#random) }
    await this.#send({ method: 'PATCH', path: `/v1/store/orders/${order}`, body })
  }

  /** Also finds orders whose response was lost. */
  async #listOrders(animal: Animal): Promise<void> {
    const { response } = await this.#send({
      method: 'GET',
      path: `/v1/store/orders?petId=${animal.id}&limit=100`,
    })
    if (response?.status === 200)
      this.#noteOrders(
        animal,
        (response.body as { id: number }[]).map(({ id }) => id),
      )
  }

  async #remove(animal: Animal): Promise<void> {
    const condition = animal.etag !== undefined && this.#random() < 0.5 ? { ifMatch: animal.etag } : {}
    const { response } = await this.#send({ method: 'DELETE', path: `/v1/pets/${animal.id}`, ...condition })
    if (response?.status === 204) this.#all.drop(animal.id)
  }
}
