import assert from 'node:assert/strict'
import type { ClientResponse } from './client.ts'
import type { ExpectedState } from './fleet.ts'
import { adminKey, type Event, listAllItems, tally } from './instances.ts'
import type { Server } from './servers.ts'

type State = {
  pet: Map<number, ClientResponse['json']>
  category: Map<number, unknown>
  order: Map<number, ClientResponse['json']>
}

export async function stateOf(instance: Server): Promise<State> {
  const byId = async (path: string) =>
    new Map<number, ClientResponse['json']>(
      (await listAllItems(instance, path)).map((thing) => [thing.id, thing]),
    )
  const state = {
    pet: await byId('/v1/pets?limit=100'),
    category: await byId('/v1/categories?limit=100'),
    order: await byId('/v1/store/orders?limit=100'),
  }
  const inventory = await instance.request('GET', '/v1/store/inventory', { key: adminKey })
  const counted = tally([...state.pet.values()].map(({ status }) => status))
  assert.deepEqual(inventory.json, { available: 0, pending: 0, sold: 0, ...counted })
  return state
}

/** The feed is complete: a follower has the same state as the lists. */
export function assertMirrored(feed: readonly Event[], state: State): void {
  const mirror: Record<string, Map<number, unknown>> = {
    pet: new Map(),
    category: new Map(),
    order: new Map(),
  }
  for (const { type, data } of feed) {
    const [kind = '', what] = type.split('.')
    if (what === 'deleted') mirror[kind]?.delete(data.id)
    else mirror[kind]?.set(data.id, data)
  }
  const reported = ({ id, petId, status, cancelReason }: ClientResponse['json']) =>
    cancelReason === undefined ? { id, petId, status } : { id, petId, status, cancelReason }
  const sorted = (map: Map<number, unknown> | undefined) => [...(map ?? [])].sort(([a], [b]) => a - b)
  const orders = new Map([...state.order].map(([id, order]) => [id, reported(order)]))
  assert.deepEqual(sorted(mirror.pet), sorted(state.pet))
  assert.deepEqual(sorted(mirror.category), sorted(state.category))
  assert.deepEqual(sorted(mirror.order), sorted(orders))
}

/** Every confirmed change is present. */
export function assertNothingLost(known: ExpectedState, state: State): void {
  for (const [id, expected] of known.pets) {
    const found = state.pet.get(id)
    if (expected === 'gone') assert.equal(found, undefined, `animal ${id} was removed`)
    else assert.deepEqual({ name: found?.name, status: found?.status }, expected, `animal ${id}`)
  }
  for (const [id, status] of known.orders) assert.equal(state.order.get(id)?.status, status, `order ${id}`)
  for (const id of known.held) assert.equal(state.order.get(id)?.cancelReason, 'hold_expired', `order ${id}`)
}

/** Nothing was done twice: neither repeated requests nor scheduled work. */
export function assertNothingDoubled(known: ExpectedState, feed: readonly Event[]): void {
  const created = feed.filter(({ type }) => type === 'pet.created')
  const byName = Map.groupBy(created, ({ data }) => String(data.name))
  for (const [name, { id, isRetried }] of known.animals) {
    const ids = (byName.get(name) ?? []).map(({ data }) => data.id)
    if (id !== undefined) assert.deepEqual(ids, [id], name)
    else assert.ok(!isRetried || ids.length === 1, `${name} was sent until it got a response`)
    assert.ok(ids.length <= 1, name)
  }
  const openOrder = new Map<unknown, number>()
  const way = new Map<number, string[]>()
  for (const { type, data } of feed) {
    if (!type.startsWith('order.')) continue
    way.set(data.id, [...(way.get(data.id) ?? []), type.slice('order.'.length)])
    if (type === 'order.placed') {
      assert.equal(openOrder.get(data.petId), undefined, `animal ${data.petId} was ordered twice`)
      openOrder.set(data.petId, data.id)
    }
    if (type === 'order.cancelled') {
      assert.equal(openOrder.get(data.petId), data.id)
      openOrder.delete(data.petId)
    }
  }
  for (const [id, steps] of way)
    assert.match(steps.join(' '), /^placed(?: approved)?(?: delivered| cancelled)?$/, `order ${id}`)
  for (const id of known.held)
    assert.deepEqual(way.get(id), ['placed', 'cancelled'], `the hold of order ${id}`)
}
