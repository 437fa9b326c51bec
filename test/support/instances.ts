import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { scopes } from '../../src/keys/key.ts'
import type { Client, ClientResponse } from './client.ts'
import { type DatabaseEnv, type NewDatabaseOptions, newDatabase, removeDatabase } from './engine.ts'
import { eventually } from './eventually.ts'
import { amplePlan, nextPage } from './responses.ts'
import { type Server, serverFor } from './servers.ts'
import { startTestService, type TestService, type TestServiceOptions } from './service.ts'

/** The operator's key of every instance. */
export const adminKey = 'the-admin-key-of-every-one-instance'

export type Event = { id: number; type: string; data: Record<string, unknown> & { id: number } }

type Instances<I> = {
  readonly databaseEnv: DatabaseEnv
  /** The settings that each was started with. */
  readonly env: Record<string, string>
  readonly all: readonly I[]
  readonly first: I
}

/** A test or a file: calls `end` when it is over. */
type Owner = { after(end: () => Promise<void>): void }
type Requester = Pick<Client, 'request'>

export const instancesDefault = 3

/** Servers on one fresh database, each in a separate process. */
export async function instancesFor(
  t: Owner,
  more: Record<string, string> = {},
  count = instancesDefault,
): Promise<Instances<Server>> {
  const { databaseEnv, owner } = await sharedDatabase(t)
  const env = { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey, ...more }
  const all = await startAll(count, () => serverFor(owner, env))
  return { databaseEnv, env, all, first: all[0] as Server }
}

/** Services on one fresh database in this process. Time stands still until it is moved for all of them. */
export async function servicesFor(
  t: Owner,
  more: Record<string, string> = {},
  options: TestServiceOptions = {},
  count = instancesDefault,
): Promise<Instances<TestService> & { advance(ms: number): void }> {
  const { databaseEnv, owner } = await sharedDatabase(t)
  const env = { ...databaseEnv, PETSTORE_ADMIN_KEY: adminKey, ...more }
  const all: TestService[] = []
  while (all.length < count) {
    const service = await startTestService(env, options)
    owner.after(() => service.stop())
    all.push(service)
  }
  const advance = (ms: number) => {
    for (const service of all) service.advance(ms)
  }
  return { databaseEnv, env, all, first: all[0] as TestService, advance }
}

/** A database that is removed after everything that uses it has ended. */
export async function sharedDatabase(
  t: Owner,
  options?: NewDatabaseOptions,
): Promise<{ databaseEnv: DatabaseEnv; owner: Pick<TestContext, 'after'> }> {
  const databaseEnv = await newDatabase(options)
  const ends: (() => unknown)[] = []
  t.after(async () => {
    await Promise.allSettled(ends.map((end) => end()))
    await removeDatabase(databaseEnv)
  })
  const after = (end?: unknown) => void ends.push(end as () => unknown)
  return { databaseEnv, owner: { after } }
}

/** Starts several at the same time. If one fails the others are still awaited, because they have to be stopped. */
export async function startAll<I>(count: number, start: (index: number) => Promise<I>): Promise<I[]> {
  const starts = await Promise.allSettled(Array.from({ length: count }, (_, index) => start(index)))
  return starts.map((settled) => {
    if (settled.status === 'rejected') throw settled.reason
    return settled.value
  })
}

/** Sends requests at the same time, to the instances in turn. */
export function concurrently<I, T>(
  instances: readonly I[],
  count: number,
  send: (instance: I, index: number) => Promise<T>,
): Promise<T[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => send(instances[index % instances.length] as I, index)),
  )
}

export const makeKey = async (instance: Requester, settings: Record<string, unknown> = {}) =>
  (await requestOk(instance, 'POST', '/v1/keys', { name: 'test', ...settings })).json as {
    id: number
    key: string
  }

/** A key with all scopes and limits that no test reaches. */
export const makeAmpleKey = async (instance: Requester): Promise<string> =>
  (await makeKey(instance, { ...amplePlan, scopes })).key

/** A request of the operator that must succeed. */
export async function requestOk(
  instance: Requester,
  method: string,
  path: string,
  body?: unknown,
  key = adminKey,
): Promise<ClientResponse> {
  const response = await retryWhile503(() => instance.request(method, path, { key, body }))
  assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${response.text}`)
  return response
}

export const newestEventId = async (instance: Requester, key = adminKey): Promise<number> =>
  Number((await requestOk(instance, 'GET', '/v1/events?limit=1', undefined, key)).headers['last-event-id'])

/** All events after a position. */
export async function feedAfter(instance: Requester, after: number, key = adminKey): Promise<Event[]> {
  const all: Event[] = []
  for (let page: string | undefined = `/v1/events?after=${after}&limit=1000`; page; ) {
    const response = await requestOk(instance, 'GET', page, undefined, key)
    all.push(...response.json)
    page = nextPage(response)
  }
  return all
}

/** All items of a list, page by page. */
export async function listAllItems(
  instance: Requester,
  path: string,
  key = adminKey,
): Promise<ClientResponse['json'][]> {
  const all: ClientResponse['json'][] = []
  for (let page: string | undefined = path; page; ) {
    const response = await requestOk(instance, 'GET', page, undefined, key)
    all.push(...response.json)
    page = nextPage(response)
  }
  return all
}

/** The first response that is not a 503. */
export const retryWhile503 = (send: () => Promise<ClientResponse>): Promise<ClientResponse> =>
  eventually(
    'a response other than 503',
    async () => {
      const response = await send()
      return response.status !== 503 && response
    },
    30_000,
  )

/** How often each value occurs. */
export function tally(values: Iterable<string | number | undefined>): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1
  return counts
}
