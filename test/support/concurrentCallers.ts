import assert from 'node:assert/strict'
import { toJson } from '../../src/api/json.ts'
import type { ClientResponse } from './client.ts'
import { retryWhile503 } from './instances.ts'
import { assertUnavailable, isOutcomeUnknown } from './load.ts'
import { assertResponseHeaders } from './responses.ts'
import type { TestService } from './service.ts'

/** Random numbers that a seed repeats (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below = (end: number): number => Math.floor(this.next() * end)
  isTrue = (probability: number): boolean => this.next() < probability
  pick = <T>(list: readonly T[]): T => list[this.below(list.length)] as T
  shuffle = <T>(list: readonly T[]): T[] =>
    list
      .map((item) => ({ item, place: this.next() }))
      .sort((a, b) => a.place - b.place)
      .map(({ item }) => item)
}

/** A request that is sent several times with one Idempotency-Key. */
type OnceRequest = {
  readonly path: string
  readonly body: unknown
  readonly key: string
  readonly effect: string
  readonly expected: readonly string[]
  readonly responses: ClientResponse[]
}

type Sent = { body?: unknown; headers?: Record<string, string> }

const inProgress = '409 idempotency_in_progress'
const codeOf = ({ status, json }: ClientResponse): string =>
  json?.code === undefined ? String(status) : `${status} ${json.code}`

/** What all callers know: the resources that they choose from, and the effects that the store must show. */
export class Known {
  readonly pets: number[] = []
  readonly orders: number[] = []
  readonly keys: number[] = []
  readonly namedCategories: bigint[] = [0n]
  /** How often each effect was confirmed, and how often its outcome was unknown. */
  readonly confirmed = new Map<string, number>()
  readonly unknown = new Map<string, number>()
  readonly onceRequests: OnceRequest[] = []
  readonly secrets = new Map<number, string[]>()
  readonly responses: string[] = []

  /** Notes the outcome of a change that may happen any number of times. */
  note(effect: string, response: ClientResponse): void {
    if (response.status < 300) this.confirmed.set(effect, (this.confirmed.get(effect) ?? 0) + 1)
    this.#noteUnknown(effect, response)
  }

  /** The same for a change that can happen once. If it has happened already, the response is a success, too. */
  noteState(effect: string, response: ClientResponse): void {
    if (response.status < 300) this.confirmed.set(effect, 1)
    this.#noteUnknown(effect, response)
  }

  noteSecret(keyId: number, secret: string): void {
    this.secrets.set(keyId, [...(this.secrets.get(keyId) ?? []), secret])
  }

  #noteUnknown(effect: string, response: ClientResponse): void {
    if (response.status === 503 && isOutcomeUnknown(response))
      this.unknown.set(effect, (this.unknown.get(effect) ?? 0) + 1)
  }
}

export type CallerOptions = {
  readonly instances: readonly TestService[]
  readonly key: string
  readonly known: Known
  /** Whether a response may be 503. */
  readonly isFaulty: boolean
  advance(): void
}

/** Choosing among the newest makes callers meet. */
const newestMax = 8
const petStatuses = ['available', 'available', 'pending', 'sold']
const orderStatuses = ['approved', 'approved', 'delivered', 'delivered', 'cancelled']
const largeCategories = [2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)]

const changeErrors = ['404 pet_not_found', '409 illegal_transition', '409 pet_has_open_order']
const placeCodes = ['201', '404 pet_not_found', '409 pet_unavailable']

/** A caller that sends random requests to random instances. */
export class Caller {
  readonly #options: CallerOptions
  readonly #known: Known
  readonly #random: Random
  readonly #number: number
  #names = 0

  constructor(options: CallerOptions, random: Random, number: number) {
    this.#options = options
    this.#known = options.known
    this.#random = random
    this.#number = number
  }

  /** Each operation as often as it is listed. */
  readonly #operations: (() => Promise<void>)[] = [
    ...[this.#addPet, this.#addPet, this.#addAndChangePet, this.#addPetOnce, this.#addPetOnce],
    ...[this.#changePet, this.#changePet, this.#changePet, this.#changePetIfMatch],
    ...[this.#removePet, this.#placeOrder, this.#placeOrder, this.#placeOrder, this.#placeOrderOnce],
    ...[this.#moveOrder, this.#moveOrder, this.#moveOrder, this.#moveOrder, this.#moveOrder],
    ...[this.#addCategory, this.#addCategoryOnce, this.#renameCategory, this.#renameCategory],
    ...[this.#removeCategory, this.#removeCategory, this.#removeCategory],
    ...[this.#addKey, this.#rotateKey, this.#rotateKey, this.#revokeKey],
    ...[this.#readInventory, this.#findOwnEvent, this.#passTime],
  ]

  act(): Promise<void> {
    return this.#random.pick(this.#operations).call(this)
  }

  /** Repeats every request with an Idempotency-Key: it has one response, which is the first one. */
  async repeatOnceRequests(): Promise<void> {
    for (const request of this.#known.onceRequests) await this.#repeat(request)
  }

  async #repeat(request: OnceRequest): Promise<void> {
    const { path, body, key, effect, expected, responses } = request
    const sent = { body, headers: { 'idempotency-key': key } }
    const send = () => this.#send(expected, 'POST', path, sent)
    const last = await (this.#options.isFaulty ? retryWhile503(send) : send())
    const received = [...responses, last].filter(
      (response) => response.status !== 503 && codeOf(response) !== inProgress,
    )
    assert.deepEqual(
      received.map(({ status, text }) => [status, text]),
      received.map(() => [last.status, last.text]),
      `every response for ${key} is the same`,
    )
    const firstOnes = received.filter((response) => response.headers['idempotent-replayed'] === undefined)
    if (this.#options.isFaulty) assert.ok(firstOnes.length <= 1, `${key} has one response`)
    else assert.equal(firstOnes.length, 1, `${key} has one response`)
    this.#known.note(effect, last)
  }

  #name = (prefix: string) => `${prefix}-${this.#number}-${++this.#names}`
  #instances = (count: number): TestService[] => this.#random.shuffle(this.#options.instances).slice(0, count)
  #newest = <T>(list: readonly T[]): T | undefined => this.#random.pick(list.slice(-newestMax))

  /** Few categories, and some that the service may be about to assign. */
  #category(): bigint {
    const { below, isTrue, pick } = this.#random
    if (isTrue(0.05)) return pick(largeCategories)
    if (isTrue(0.4)) return (this.#known.namedCategories.at(-1) as bigint) + BigInt(below(4))
    return BigInt(100 + below(4))
  }

  async #request(instance: TestService, method: string, path: string, { body, headers = {} }: Sent = {}) {
    // As text, because an int64 can be larger than a number of JavaScript.
    const sent = body === undefined ? {} : { body: toJson(body) }
    const type = body === undefined ? undefined : { 'content-type': 'application/json' }
    const { key } = this.#options
    const response = await instance.request(method, path, { key, ...sent, headers: { ...type, ...headers } })
    this.#known.responses.push(codeOf(response))
    assertResponseHeaders(response, method)
    if (response.status === 503 && this.#options.isFaulty) assertUnavailable(response, method)
    return response
  }

  /** One request, whose response must be a documented one. */
  async #send(expected: readonly string[], method: string, path: string, sent: Sent = {}, at?: TestService) {
    const instance = at ?? (this.#instances(1)[0] as TestService)
    const response = await this.#request(instance, method, path, sent)
    const isExpected =
      expected.includes(codeOf(response)) || (response.status === 503 && this.#options.isFaulty)
    assert.ok(isExpected, `${method} ${path} ${toJson(sent.body)}: ${response.status} ${response.text}`)
    return response
  }

  #read = (path: string, at: TestService) =>
    this.#options.isFaulty
      ? retryWhile503(() => this.#send(['200'], 'GET', path, {}, at))
      : this.#send(['200'], 'GET', path, {}, at)

  #newPet() {
    const { isTrue, pick } = this.#random
    const status = isTrue(0.7) ? {} : { status: pick(petStatuses) }
    return { name: this.#name('pet'), categoryId: this.#category(), ...status }
  }

  async #addPet(): Promise<void> {
    const body = this.#newPet()
    const response = await this.#send(['201'], 'POST', '/v1/pets', { body })
    this.#known.note(`pet named ${body.name}`, response)
    if (response.status === 201) this.#known.pets.push(response.json.id)
  }

  /** A confirmed change is visible at every instance, also if it has a cached page. */
  async #addAndChangePet(): Promise<void> {
    const [one, two] = this.#instances(2) as [TestService, TestService]
    const body = this.#newPet()
    const added = await this.#send(['201'], 'POST', '/v1/pets', { body }, one)
    this.#known.note(`pet named ${body.name}`, added)
    if (added.status !== 201) return
    const page = `/v1/pets?id=${added.json.id}`
    assert.equal((await this.#read(page, two)).text, `[${added.text}]`)
    const name = this.#name('pet')
    const path = `/v1/pets/${added.json.id}`
    const changed = await this.#send(['200'], 'PATCH', path, { body: { name } }, one)
    this.#known.note(`pet named ${name}`, changed)
    if (changed.status === 200) assert.equal((await this.#read(page, two)).text, `[${changed.text}]`)
    this.#known.pets.push(added.json.id)
  }

  #addPetOnce(): Promise<void> {
    const body = this.#newPet()
    return this.#sendOnce('/v1/pets', body, `pet named ${body.name}`, ['201'], ({ json }) => {
      if (!this.#known.pets.includes(json.id)) this.#known.pets.push(json.id)
    })
  }

  /** Sends a request to two instances at the same time, and sometimes twice to one of them. */
  async #sendOnce(
    path: string,
    body: unknown,
    effect: string,
    expected: readonly string[],
    onCreated: (response: ClientResponse) => void,
  ): Promise<void> {
    const key = this.#name('once')
    const request: OnceRequest = { path, body, key, effect, expected, responses: [] }
    this.#known.onceRequests.push(request)
    const instances = this.#instances(2)
    if (this.#random.isTrue(0.25)) instances.push(instances[0] as TestService)
    const codes = [...expected, inProgress]
    const sent = { body, headers: { 'idempotency-key': key } }
    await Promise.all(
      instances.map(async (instance) => {
        const response = await this.#send(codes, 'POST', path, sent, instance)
        request.responses.push(response)
        if (response.status === 201) onCreated(response)
      }),
    )
  }

  #change() {
    const { isTrue, pick } = this.#random
    const name = this.#name('pet')
    const status = isTrue(0.5) ? { status: pick(petStatuses) } : {}
    return { name, ...status, ...(isTrue(0.4) && { categoryId: this.#category() }) }
  }

  async #changePet(): Promise<void> {
    const id = this.#newest(this.#known.pets)
    if (id === undefined) return
    const body = this.#change()
    const response = await this.#send(['200', ...changeErrors], 'PATCH', `/v1/pets/${id}`, { body })
    this.#known.note(`pet named ${body.name}`, response)
  }

  /** Of two changes of the same version, at most one is made. */
  async #changePetIfMatch(): Promise<void> {
    const id = this.#newest(this.#known.pets)
    if (id === undefined) return
    const path = `/v1/pets/${id}`
    const read = await this.#send(['200', '404 pet_not_found'], 'GET', path)
    if (read.status !== 200) return
    const headers = { 'if-match': String(read.headers.etag) }
    const codes = ['200', '412 precondition_failed', ...changeErrors]
    const responses = await Promise.all(
      this.#instances(2).map(async (instance) => {
        const body = this.#change()
        const response = await this.#send(codes, 'PATCH', path, { body, headers }, instance)
        this.#known.note(`pet named ${body.name}`, response)
        return response
      }),
    )
    assert.ok(responses.filter(({ status }) => status === 200).length <= 1, `pet ${id} lost a change`)
  }

  async #removePet(): Promise<void> {
    const id = this.#newest(this.#known.pets)
    if (id === undefined) return
    const codes = ['204', '404 pet_not_found', '409 pet_has_open_order']
    this.#known.note(`pet ${id} removed`, await this.#send(codes, 'DELETE', `/v1/pets/${id}`))
  }

  /** Sometimes at all instances at the same time. */
  async #placeOrder(): Promise<void> {
    const petId = this.#newest(this.#known.pets)
    if (petId === undefined) return
    const instances = this.#instances(this.#random.isTrue(0.3) ? 3 : 1)
    await Promise.all(
      instances.map(async (instance) => {
        const response = await this.#send(
          placeCodes,
          'POST',
          '/v1/store/orders',
          { body: { petId } },
          instance,
        )
        this.#known.note(`order for ${petId}`, response)
        if (response.status === 201) this.#known.orders.push(response.json.id)
      }),
    )
  }

  async #placeOrderOnce(): Promise<void> {
    const petId = this.#newest(this.#known.pets)
    if (petId === undefined) return
    await this.#sendOnce('/v1/store/orders', { petId }, `order for ${petId}`, placeCodes, ({ json }) => {
      if (!this.#known.orders.includes(json.id)) this.#known.orders.push(json.id)
    })
  }

  async #moveOrder(): Promise<void> {
    const id = this.#newest(this.#known.orders)
    if (id === undefined) return
    const status = this.#random.pick(orderStatuses)
    const codes = ['200', '409 illegal_transition']
    const response = await this.#send(codes, 'PATCH', `/v1/store/orders/${id}`, { body: { status } })
    this.#known.noteState(`order ${id} ${status}`, response)
  }

  async #addCategory(): Promise<void> {
    const name = this.#name('category')
    const response = await this.#send(['201'], 'POST', '/v1/categories', { body: { name } })
    this.#known.note(`category named ${name}`, response)
    if (response.status === 201) this.#known.namedCategories.push(BigInt(response.json.id))
  }

  #addCategoryOnce(): Promise<void> {
    const name = this.#name('category')
    return this.#sendOnce('/v1/categories', { name }, `category named ${name}`, ['201'], ({ json }) => {
      this.#known.namedCategories.push(BigInt(json.id))
    })
  }

  async #renameCategory(): Promise<void> {
    const name = this.#name('category')
    const path = `/v1/categories/${this.#category()}`
    const response = await this.#send(['200', '404 category_not_found'], 'PATCH', path, { body: { name } })
    this.#known.note(`category named ${name}`, response)
  }

  async #removeCategory(): Promise<void> {
    const id = this.#category()
    const codes = ['204', '404 category_not_found', '409 category_in_use']
    this.#known.note(`category ${id} removed`, await this.#send(codes, 'DELETE', `/v1/categories/${id}`))
  }

  async #addKey(): Promise<void> {
    const name = this.#name('key')
    const response = await this.#send(['201'], 'POST', '/v1/keys', { body: { name } })
    this.#known.note(`key named ${name}`, response)
    if (response.status !== 201) return
    this.#known.noteSecret(response.json.id, response.json.key)
    this.#known.keys.push(response.json.id)
  }

  /** Sometimes at two instances at the same time. */
  async #rotateKey(): Promise<void> {
    const id = this.#newest(this.#known.keys)
    if (id === undefined) return
    const codes = ['200', '409 illegal_transition']
    await Promise.all(
      this.#instances(this.#random.isTrue(0.5) ? 2 : 1).map(async (instance) => {
        const response = await this.#send(codes, 'POST', `/v1/keys/${id}/rotate`, {}, instance)
        this.#known.note(`key ${id} rotated`, response)
        if (response.status === 200) this.#known.noteSecret(id, response.json.key)
      }),
    )
  }

  async #revokeKey(): Promise<void> {
    const id = this.#newest(this.#known.keys)
    if (id === undefined || this.#random.isTrue(0.7)) return
    this.#known.noteState(`key ${id} revoked`, await this.#send(['204'], 'DELETE', `/v1/keys/${id}`))
  }

  async #readInventory(): Promise<void> {
    const { json } = await this.#read('/v1/store/inventory', this.#instances(1)[0] as TestService)
    for (const count of Object.values(json)) assert.ok((count as number) >= 0, JSON.stringify(json))
  }

  /** The response of a change comes after its event is in the feed of every instance. */
  async #findOwnEvent(): Promise<void> {
    const [one, two, three] = this.#instances(3) as [TestService, TestService, TestService]
    const before = (await this.#read('/v1/events?limit=1', one)).headers['last-event-id']
    const body = this.#newPet()
    const response = await this.#send(['201'], 'POST', '/v1/pets', { body }, two)
    this.#known.note(`pet named ${body.name}`, response)
    if (response.status !== 201) return
    this.#known.pets.push(response.json.id)
    const { text } = await this.#read(`/v1/events?after=${before}&limit=1000`, three)
    assert.ok(
      text.includes(`"data":${response.text}`),
      `the feed after ${before} has no event for ${response.text}`,
    )
  }

  async #passTime(): Promise<void> {
    this.#options.advance()
  }
}
