import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type DatabaseEnv, inDatabase, removeDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { startServer } from '../support/process.ts'

type Server = Awaited<ReturnType<typeof startServer>>

/** The day limit is the one that is reached, because a minute window could end during the test. */
const settings = { name: 'crash', plan: 'enterprise', limits: { perMinute: 1_000, perDay: 50 } }

const databases: DatabaseEnv[] = []
const running = new Set<Server>()
after(async () => {
  for (const { child } of running) child.kill('SIGKILL')
  await Promise.all([...running].map(({ ended }) => ended))
  for (const databaseEnv of databases) await removeDatabase(databaseEnv)
})

async function start(databaseEnv?: DatabaseEnv, env: Record<string, string> = {}): Promise<Server> {
  const server = await startServer({ ...env, ...databaseEnv })
  if (databaseEnv === undefined) databases.push(server.databaseEnv)
  running.add(server)
  return server
}

async function end(server: Server, signal: NodeJS.Signals) {
  server.closeConnections()
  server.child.kill(signal)
  const ended = await server.ended
  running.delete(server)
  return ended
}

async function makeKey(
  { request, operatorKey }: Server,
  body = settings,
): Promise<{ id: number; key: string }> {
  const { status, json } = await request('POST', '/v1/keys', { key: operatorKey, body })
  assert.equal(status, 201)
  return json
}

const burst = ({ request }: Server, key: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => request('GET', '/v1/pets', { key })))
const limits = async ({ request }: Server, key: string) => (await request('GET', '/v1/limits', { key })).json

/** The row as another process reads it. */
const stored = (env: DatabaseEnv, id: number) =>
  inDatabase(env, ({ read }) =>
    read.selectFrom('key_usage').selectAll().where('key_id', '=', id).executeTakeFirst(),
  )

test('a window in the database is stored after the process is killed', async () => {
  const first = await start()
  const { id, key } = await makeKey(first)
  const admitted = await burst(first, key, 30)
  assert.ok(admitted.every(({ status }) => status === 200))
  const before = await limits(first, key)
  await eventually(
    'the count is in the database',
    async () => (await stored(first.databaseEnv, id))?.day_used === 30,
  )
  const { signal } = await end(first, 'SIGKILL')
  assert.equal(signal, 'SIGKILL')

  const second = await start(first.databaseEnv)
  assert.deepEqual((await limits(second, key)).day, before.day)
  const responses = await burst(second, key, 40)
  assert.equal(responses.filter(({ status }) => status === 200).length, 20)
  assert.equal(responses.filter(({ status }) => status === 429).length, 20)
  await end(second, 'SIGTERM')
})

test('a crash loses at most the last counts, never the window', async () => {
  const first = await start()
  const { id, key } = await makeKey(first)
  await burst(first, key, 30)
  await eventually(
    'the count is in the database',
    async () => (await stored(first.databaseEnv, id))?.day_used === 30,
  )
  await burst(first, key, 5)
  await end(first, 'SIGKILL')

  const second = await start(first.databaseEnv)
  const { day } = await limits(second, key)
  assert.ok(day.remaining >= 15 && day.remaining <= 20, `${day.remaining} are left`)
  await end(second, 'SIGTERM')
})

test('a ban is stored after the process is killed', async () => {
  const env = { PETSTORE_BAN_AFTER_REFUSALS: '5' }
  const first = await start(undefined, env)
  const { id, key } = await makeKey(first, { ...settings, limits: { perMinute: 1_000, perDay: 1 } })
  const responses = await burst(first, key, 6)
  assert.equal(responses.filter(({ json }) => json.code === 'key_banned').length, 1)
  const { bannedUntil } = await limits(first, key)
  await eventually(
    'the ban is in the database',
    async () => Number((await stored(first.databaseEnv, id))?.banned_until) > 0,
  )
  await end(first, 'SIGKILL')

  const second = await start(first.databaseEnv, env)
  const [response] = await burst(second, key, 1)
  assert.equal(response?.json.code, 'key_banned')
  assert.equal((await limits(second, key)).bannedUntil, bannedUntil)
  await end(second, 'SIGTERM')
})

test('a clean stop loses no count', async () => {
  const first = await start()
  const { key } = await makeKey(first)
  const admitted = await burst(first, key, 37)
  assert.ok(admitted.every(({ status }) => status === 200))
  const { code } = await end(first, 'SIGTERM')
  assert.equal(code, 0)

  const second = await start(first.databaseEnv)
  assert.equal((await limits(second, key)).day.remaining, 13)
  const responses = await burst(second, key, 20)
  assert.equal(responses.filter(({ status }) => status === 200).length, 13)
  await end(second, 'SIGTERM')
})

test('every request that is admitted during a clean stop is counted', async () => {
  const first = await start()
  const { key } = await makeKey(first)
  await burst(first, key, 1)
  const late = Promise.allSettled(Array.from({ length: 30 }, () => first.request('GET', '/v1/pets', { key })))
  first.child.kill('SIGTERM')
  const responded = (await late).filter(({ status }) => status === 'fulfilled').length
  first.closeConnections()
  assert.equal((await first.ended).code, 0)
  running.delete(first)

  const second = await start(first.databaseEnv)
  const { day } = await limits(second, key)
  // Requests with a response were counted; aborted ones may have been.
  assert.ok(
    day.remaining <= 49 - responded && day.remaining >= 19,
    `${day.remaining} left, ${responded} completed`,
  )
  await end(second, 'SIGTERM')
})
