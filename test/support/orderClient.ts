import assert from 'node:assert/strict'
import type { ClientResponse, RequestOptions } from './client.ts'
import { amplePlan, assertResponseHeaders } from './responses.ts'
import { startTestService, type TestService } from './service.ts'

export const hourMs = 60 * 60 * 1000
export const holdMs = 72 * hourMs

type Event = { id: number; type: string; createdAt: string; data: Record<string, unknown> }

/** A service and helpers to place orders. Every response is checked for the common form. */
export type OrderClient = {
  readonly service: TestService
  readonly key: string
  call(method: string, path: string, options?: RequestOptions): Promise<ClientResponse>
  addPet(fields?: Record<string, unknown>): Promise<number>
  petStatus(id: number): Promise<string | undefined>
  place(petId: number, fields?: Record<string, unknown>): Promise<ClientResponse['json']>
  move(orderId: number, status: string): Promise<ClientResponse>
  read(orderId: number): Promise<ClientResponse['json']>
  /** A pet with an order in this status. */
  orderThatIs(status: string): Promise<{ petId: number; orderId: number }>
  newestEventId(): Promise<number>
  eventsAfter(id: number): Promise<Event[]>
}

export async function startOrderClient(env: Record<string, string> = {}): Promise<OrderClient> {
  const service = await startTestService(env)
  const { key } = await service.makeKey(amplePlan)

  async function call(method: string, path: string, options: RequestOptions = {}): Promise<ClientResponse> {
    const response = await service.request(method, path, { key, ...options })
    assertResponseHeaders(response, method)
    return response
  }
  async function done(method: string, path: string, status: number, options: RequestOptions = {}) {
    const response = await call(method, path, options)
    assert.equal(response.status, status, `${method} ${path}: ${response.text}`)
    return response
  }
  const addPet = async (fields = {}) =>
    (await done('POST', '/v1/pets', 201, { body: { name: 'Milo', categoryId: 3, ...fields } })).json.id
  const place = async (petId: number, fields = {}) =>
    (await done('POST', '/v1/store/orders', 201, { body: { petId, ...fields } })).json
  const move = (orderId: number, status: string) =>
    call('PATCH', `/v1/store/orders/${orderId}`, { body: { status } })
  const events = (query: string) => done('GET', `/v1/events?${query}`, 200, { key: service.operatorKey })

  return {
    service,
    key,
    call,
    addPet,
    place,
    move,
    petStatus: async (id) => (await done('GET', `/v1/pets?id=${id}`, 200)).json[0]?.status,
    read: async (orderId) => (await done('GET', `/v1/store/orders/${orderId}`, 200)).json,
    async orderThatIs(status) {
      const petId = await addPet()
      const { id: orderId } = await place(petId)
      const way = { placed: [], approved: ['approved'], delivered: ['approved', 'delivered'] }[status]
      for (const step of way ?? [status]) assert.equal((await move(orderId, step)).status, 200)
      return { petId, orderId }
    },
    newestEventId: async () => Number((await events('limit=1')).headers['last-event-id']),
    async eventsAfter(id) {
      const all: Event[] = []
      for (let after = id; ; ) {
        const page: Event[] = (await events(`after=${after}&limit=100`)).json
        all.push(...page)
        const last = page.at(-1)
        if (!last) return all
        after = last.id
      }
    },
  }
}
