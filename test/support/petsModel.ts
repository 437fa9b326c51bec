import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type PetStatus, petStatuses } from '../../src/pets/pet.ts'
import type { ClientResponse } from './client.ts'
import { amplePlan, assertError, nextPage } from './responses.ts'
import { startTestService, type TestService } from './service.ts'

const operationsPerRun = 260

type Pet = { id: number; name: string; categoryId: bigint; status: PetStatus }
type Filter = { status: PetStatus | undefined; categoryId: bigint | undefined; ids: number[] | undefined }

/** A traversal of the pages that is in progress. */
type Walker = {
  filter: Filter
  limit: number
  next: string
  belowId: number
  seen: number[]
  /** The ids that existed at the start and have matched the filter since then. */
  throughout: Set<number>
}

const petText = ({ id, name, categoryId, status }: Pet) =>
  `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`
const matches = (pet: Pet, { status, categoryId, ids }: Filter) =>
  (status === undefined || pet.status === status) &&
  (categoryId === undefined || pet.categoryId === categoryId) &&
  (ids === undefined || ids.includes(pet.id))

/** An in-memory model of the database, compared with the service. */
class Pair {
  readonly #service: TestService
  readonly #key: string
  readonly #pets = new Map<number, Pet>()
  readonly #idsEver: number[] = []
  readonly #etagOfContent = new Map<string, string>()
  readonly #contentOfEtag = new Map<string, string>()
  walkers: Walker[] = []

  constructor(service: TestService, key: string) {
    this.#service = service
    this.#key = key
  }

  async create(fields: { name: string; categoryId: bigint; status: PetStatus | undefined }): Promise<void> {
    const { name, categoryId, status } = fields
    const statusText = status === undefined ? '' : `,"status":"${status}"`
    const body = `{"name":${JSON.stringify(name)},"categoryId":${categoryId}${statusText}}`
    const response = await this.#send('POST', '/v1/pets', body)
    assert.equal(response.status, 201, response.text)
    const pet: Pet = { id: response.json.id, name, categoryId, status: status ?? 'available' }
    assert.equal(response.text, petText(pet))
    assert.ok(!this.#idsEver.includes(pet.id), 'an id was used twice')
    this.#idsEver.push(pet.id)
    this.#pets.set(pet.id, pet)
  }

  async change(pick: number, change: Partial<Omit<Pet, 'id'>>): Promise<void> {
    const id = this.#pick(pick)
    const fields = Object.entries(change)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `"${name}":${typeof value === 'bigint' ? value : JSON.stringify(value)}`)
    const response = await this.#send('PATCH', `/v1/pets/${id}`, `{${fields.join()}}`)
    const pet = this.#pets.get(id)
    if (!pet) return assertError(response, 404, 'pet_not_found')
    if (pet.status === 'sold' && change.status === 'pending')
      return assertError(response, 409, 'illegal_transition')
    const next: Pet = {
      id,
      name: change.name ?? pet.name,
      categoryId: change.categoryId ?? pet.categoryId,
      status: change.status ?? pet.status,
    }
    assert.equal(response.text, petText(next))
    this.#pets.set(id, next)
    this.#noteChange(id)
  }

  async remove(pick: number): Promise<void> {
    const id = this.#pick(pick)
    const response = await this.#send('DELETE', `/v1/pets/${id}`)
    if (!this.#pets.delete(id)) return assertError(response, 404, 'pet_not_found')
    assert.equal(response.status, 204)
    this.#noteChange(id)
  }

  async get(pick: number): Promise<void> {
    const id = this.#pick(pick)
    const response = await this.#send('GET', `/v1/pets/${id}`)
    const pet = this.#pets.get(id)
    if (!pet) return assertError(response, 404, 'pet_not_found')
    assert.equal(response.text, petText(pet))
  }

  async list(filter: Filter, limit: number | undefined): Promise<void> {
    await this.#page(this.#path(filter, limit), filter, limit ?? 20, Number.MAX_SAFE_INTEGER)
  }

  startWalk(filter: Filter, limit: number): void {
    const throughout = new Set(this.#matching(filter).map((pet) => pet.id))
    const next = this.#path(filter, limit)
    this.walkers.push({ filter, limit, next, belowId: Number.MAX_SAFE_INTEGER, seen: [], throughout })
  }

  async stepWalk(pick: number): Promise<void> {
    const walker = this.walkers[pick % this.walkers.length]
    if (!walker) return
    const { filter, limit, belowId } = walker
    const { response, page } = await this.#page(walker.next, filter, limit, belowId)
    for (const { id } of page) assert.ok(!walker.seen.includes(id), `pet ${id} was returned twice`)
    walker.seen.push(...page.map((pet) => pet.id))
    walker.belowId = page.at(-1)?.id ?? belowId
    const next = nextPage(response)
    if (next !== undefined) {
      walker.next = next
      return
    }
    for (const id of walker.throughout) assert.ok(walker.seen.includes(id), `pet ${id} was skipped`)
    this.walkers = this.walkers.filter((other) => other !== walker)
  }

  async finish(): Promise<void> {
    while (this.walkers.length > 0) await this.stepWalk(0)
  }

  filterOf({ status, categoryId, picks }: FilterChoice): Filter {
    const ids = picks && this.#idsEver.length > 0 ? picks.map((pick) => this.#pick(pick)) : undefined
    return { status, categoryId, ids }
  }

  #pick(pick: number): number {
    return this.#idsEver[pick % this.#idsEver.length] ?? pick + 1
  }

  #matching(filter: Filter): Pet[] {
    return [...this.#pets.values()].filter((pet) => matches(pet, filter)).sort((a, b) => b.id - a.id)
  }

  /** Requests a page and compares it with the model. */
  async #page(path: string, filter: Filter, limit: number, belowId: number) {
    const response = await this.#send('GET', path)
    const rest = this.#matching(filter).filter((pet) => pet.id < belowId)
    const page = rest.slice(0, limit)
    assert.equal(response.text, `[${page.map(petText).join()}]`, path)
    assert.equal(
      nextPage(response) !== undefined,
      rest.length > limit,
      'Link is present exactly if there is a next page',
    )
    const content = `${response.text} ${response.headers.link}`
    const etag = String(response.headers.etag)
    assert.equal(this.#etagOfContent.get(content) ?? etag, etag, 'the same page has the same ETag')
    assert.equal(this.#contentOfEtag.get(etag) ?? content, content, 'another page has another ETag')
    this.#etagOfContent.set(content, etag)
    this.#contentOfEtag.set(etag, content)
    return { response, page }
  }

  /** A pet that was removed or no longer matches need not be returned by a traversal. */
  #noteChange(id: number): void {
    const pet = this.#pets.get(id)
    for (const { filter, throughout } of this.walkers) {
      if (!pet || !matches(pet, filter)) throughout.delete(id)
    }
  }

  #path({ status, categoryId, ids }: Filter, limit: number | undefined): string {
    const query = new URLSearchParams()
    if (limit !== undefined) query.append('limit', String(limit))
    if (status !== undefined) query.append('status', status)
    if (categoryId !== undefined) query.append('categoryId', String(categoryId))
    for (const id of ids ?? []) query.append('id', String(id))
    return `/v1/pets?${query}`
  }

  #send(method: string, path: string, body?: string): Promise<ClientResponse> {
    return this.#service.request(method, path, { key: this.#key, ...(body !== undefined && { body }) })
  }
}

const categoryId = fc.constantFrom(1n, 2n, 3n, -(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n)
const status = fc.constantFrom(...petStatuses)
const invisible = /[\p{Default_Ignorable_Code_Point}\u2800]/gu
/** With a visible character, as the service requires it. */
const name = fc
  .string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
  .filter(
    (text) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(text.replaceAll(invisible, '')) && !text.includes('\u0000'),
  )
const pick = fc.nat({ max: 10_000 })
const perhaps = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

type FilterChoice = {
  status: PetStatus | undefined
  categoryId: bigint | undefined
  picks: number[] | undefined
}
const filterChoice: fc.Arbitrary<FilterChoice> = fc.record({
  status: perhaps(status),
  categoryId: perhaps(categoryId),
  picks: perhaps(fc.array(pick, { minLength: 1, maxLength: 100 })),
})
const newPet = fc.record({ name, categoryId, status: perhaps(status) })
const limit = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 100 }))

type Step = { what: string; run(pair: Pair): Promise<void> }
/** A step with a readable form in counterexamples. */
const step = <T>(
  what: string,
  arbitrary: fc.Arbitrary<T>,
  run: (pair: Pair, choice: T) => Promise<void> | void,
) =>
  arbitrary.map(
    (choice): Step => ({
      what: `${what} ${fc.stringify(choice)}`,
      run: async (pair) => run(pair, choice),
    }),
  )

const anyStep = fc.oneof(
  { weight: 6, arbitrary: step('create', newPet, (pair, fields) => pair.create(fields)) },
  {
    weight: 4,
    arbitrary: step(
      'change',
      fc.record({
        pick,
        name: perhaps(name),
        categoryId: perhaps(categoryId),
        status: perhaps(status),
      }),
      (pair, { pick: which, name: newName, categoryId: newCategory, status: newStatus }) =>
        pair.change(which, {
          ...(newName !== undefined && { name: newName }),
          ...(newCategory !== undefined && { categoryId: newCategory }),
          ...(newStatus !== undefined && { status: newStatus }),
        }),
    ),
  },
  { weight: 2, arbitrary: step('remove', pick, (pair, which) => pair.remove(which)) },
  { weight: 1, arbitrary: step('get', pick, (pair, which) => pair.get(which)) },
  {
    weight: 4,
    arbitrary: step('list', fc.tuple(filterChoice, perhaps(limit)), (pair, [choice, size]) =>
      pair.list(pair.filterOf(choice), size),
    ),
  },
  {
    weight: 1,
    arbitrary: step('start a walk', fc.tuple(filterChoice, limit), (pair, [choice, size]) =>
      pair.startWalk(pair.filterOf(choice), size),
    ),
  },
  { weight: 3, arbitrary: step('walk on', pick, (pair, which) => pair.stepWalk(which)) },
  {
    weight: 1,
    arbitrary: step(
      'create several concurrently',
      fc.array(newPet, { minLength: 2, maxLength: 6 }),
      async (pair, many) => {
        await Promise.all(many.map((fields) => pair.create(fields)))
      },
    ),
  },
)
const steps = fc.array(anyStep, { minLength: operationsPerRun, maxLength: operationsPerRun })

/** Compares the service with a model, after each of many random operations. */
export async function comparePetsWithModel(runs: number): Promise<void> {
  let operations = 0
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const service = await startTestService()
      try {
        const pair = new Pair(service, (await service.makeKey(amplePlan)).key)
        for (const { what, run } of list) {
          await run(pair).catch((error: unknown) => {
            throw new Error(`The store and the model disagree at: ${what}`, { cause: error })
          })
          operations++
        }
        await pair.finish()
      } finally {
        await service.stop()
      }
    }),
    // Shrinking repeats whole runs. The seed and the step are enough to reproduce a failure.
    { numRuns: runs, endOnFailure: true },
  )
  assert.equal(operations, runs * operationsPerRun)
}
