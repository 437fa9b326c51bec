import assert from 'node:assert/strict'
import type { ClientResponse, RequestOptions } from './client.ts'
import { assertResponseHeaders } from './responses.ts'
import type { TestService } from './service.ts'

export type EventContent = { type: string; data: unknown }
export type Event = EventContent & { id: number; createdAt: string }

/** What tests of events do with a service, as the operator. */
export function eventCallsOf(service: TestService) {
  async function send(method: string, path: string, options: RequestOptions = {}): Promise<ClientResponse> {
    const response = await service.request(method, path, { key: service.operatorKey, ...options })
    assertResponseHeaders(response, method)
    return response
  }

  /** Makes a change that must succeed. Returns the response body. */
  async function done(method: string, path: string, body?: unknown) {
    const response = await send(method, path, body === undefined ? {} : { body })
    assert.ok(response.status < 300, response.text)
    return response.json
  }

  const newest = async () => Number((await send('GET', '/v1/events?limit=1')).headers['last-event-id'])
  const eventsAfter = async (position: number): Promise<Event[]> =>
    (await send('GET', `/v1/events?after=${position}&limit=1000`)).json
  const contents = (events: Event[]): EventContent[] => events.map(({ type, data }) => ({ type, data }))

  /** The events that an action records. */
  async function eventsDuring(act: () => Promise<unknown>): Promise<EventContent[]> {
    const position = await newest()
    await act()
    return contents(await eventsAfter(position))
  }

  const addPet = (more = {}) => done('POST', '/v1/pets', { name: 'Milo', categoryId: 3, ...more })
  const placeOrder = async () => {
    const pet = await addPet()
    const order = await done('POST', '/v1/store/orders', {
      petId: pet.id,
      customer: { name: 'Ada', email: 'ada@example.com' },
      note: 'Likes rabbits',
    })
    return { pet, order }
  }
  const moveOrder = (id: number, status: string) => done('PATCH', `/v1/store/orders/${id}`, { status })

  return { send, done, newest, eventsAfter, contents, eventsDuring, addPet, placeOrder, moveOrder }
}
