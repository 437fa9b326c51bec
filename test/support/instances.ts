import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { scopes } from '../../src/keys/key.ts'
import { amplePlan, nextPage } from './answers.ts'
import type { Answer, Client } from './client.ts'
import { type NewStoreOptions, newStore, removeStore, type StoreEnv } from './engine.ts'
import { eventually } from './eventually.ts'
import { type Server, serverFor } from './servers.ts'
import { startTestService, type TestService, type TestServiceOptions } from './service.ts'

/** The operator's key of every instance. */
export const adminKey = 'the-admin-key-of-every-one-instance'

export type Event = { id: number; type: string; data: Record<string, unknown> & { id: number } }

type Instances<I> = {
  readonly storeEnv: StoreEnv
  /** The settings that each was started with. */
  readonly env: Record<string, string>
  readonly all: readonly I[]
  readonly first: I
}

/** A test or a file: calls `end` when it is over. */
type Owner = { after(end: () => Promise<void>): void }
type Asked = Pick<Client, 'request'>

export const instancesUsual = 3

/** Servers on one fresh database, each in a separate process. */
export async function instancesFor(
  t: Owner,
  more: Record<string, string> = {},
  count = instancesUsual,
): Promise<Instances<Server>> {
  const { storeEnv, owner } = await sharedStore(t)
  const env = { ...storeEnv, PETSTORE_ADMIN_KEY: adminKey, ...more }
  const all = await allOrNone(count, () => serverFor(owner, env))
  return { storeEnv, env, all, first: all[0] as Server }
}

/** Services on one fresh database in this process. Time stands still until it is moved for all of them. */
export async function servicesFor(
  t: Owner,
  more: Record<string, string> = {},
  options: TestServiceOptions = {},
  count = instancesUsual,
): Promise<Instances<TestService> & { advance(ms: number): void }> {
  const { storeEnv, owner } = await sharedStore(t)
  const env = { ...storeEnv, PETSTORE_ADMIN_KEY: adminKey, ...more }
  const all: TestService[] = []
  while (all.length < count) {
    const service = await startTestService(env, options)
    owner.after(() => service.stop())
    all.push(service)
  }
  const advance = (ms: number) => {
    for (const service of all) service.advance(ms)
  }
  return { storeEnv, env, all, first: all[0] as TestService, advance }
}

/** A database that is removed after everything that uses it has ended. */
export async function sharedStore(
  t: Owner,
  options?: NewStoreOptions,
): Promise<{ storeEnv: StoreEnv; owner: Pick<TestContext, 'after'> }> {
  const storeEnv = await newStore(options)
  const ends: (() => unknown)[] = []
  t.after(async () => {
    await Promise.allSettled(ends.map((end) => end()))
    await removeStore(storeEnv)
  })
  const after = (end?: unknown) => void ends.push(end as () => unknown)
  return { storeEnv, owner: { after } }
}

/** Starts several at the same time. If one fails the others are still awaited, because they have to be stopped. */
export async function allOrNone<I>(count: number, start: (index: number) => Promise<I>): Promise<I[]> {
  const starts = await Promise.allSettled(Array.from({ length: count }, (_, index) => start(index)))
  return starts.map((settled) => {
    if (settled.status === 'rejected') throw settled.reason
    return settled.value
  })
}

/** Sends requests at the same time, to the instances in turn. */
export function atOnce<I, T>(
  instances: readonly I[],
  count: number,
  send: (instance: I, index: number) => Promise<T>,
): Promise<T[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => send(instances[index % instances.length] as I, index)),
  )
}

export const makeKey = async (instance: Asked, settings: Record<string, unknown> = {}) =>
  (await done(instance, 'POST', '/v1/keys', { name: 'test', ...settings })).json as {
    id: number
    key: string
  }

/** A key with all scopes and limits that no test reaches. */
export const makeAmpleKey = async (instance: Asked): Promise<string> =>
  (await makeKey(instance, { ...amplePlan, scopes })).key

/** A request of the operator that must succeed. */
export async function done(
  instance: Asked,
  method: string,
  path: string,
  body?: unknown,
  key = adminKey,
): Promise<Answer> {
  const answer = await whenServed(() => instance.request(method, path, { key, body }))
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
  return answer
}

export const newestEventId = async (instance: Asked, key = adminKey): Promise<number> =>
  Number((await done(instance, 'GET', '/v1/events?limit=1', undefined, key)).headers['last-event-id'])

/** All events after a position. */
export async function feedAfter(instance: Asked, after: number, key = adminKey): Promise<Event[]> {
  const all: Event[] = []
  for (let page: string | undefined = `/v1/events?after=${after}&limit=1000`; page; ) {
    const answer = await done(instance, 'GET', page, undefined, key)
    all.push(...answer.json)
    page = nextPage(answer)
  }
  return all
}

/** All items of a list, page by page. */
export async function listed(instance: Asked, path: string, key = adminKey): Promise<Answer['json'][]> {
  const all: Answer['json'][] = []
  for (let page: string | undefined = path; page; ) {
    const answer = await done(instance, 'GET', page, undefined, key)
    all.push(...answer.json)
    page = nextPage(answer)
  }
  return all
}

/** The first response that is not a 503. */
export const whenServed = (send: () => Promise<Answer>): Promise<Answer> =>
  eventually(
    'a response other than 503',
    async () => {
      const answer = await send()
      return answer.status !== 503 && answer
    },
    30_000,
  )

/** How often each value occurs. */
export function tally(values: Iterable<string | number | undefined>): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1
  return counts
}
