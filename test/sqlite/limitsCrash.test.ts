import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type DatabaseEnv, inDatabase, removeDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { retryWhile503 } from '../support/instances.ts'
import { startServer } from '../support/process.ts'

type Server = Awaited<ReturnType<typeof startServer>>

/** The day limit is the one that is reached, because a minute window could end during the test. */
const settings = { name: 'crash', plan: 'enterprise', limits: { perMinute: 1_000, perDay: 50 } }

const rejectionsToBan = 100

const databases: DatabaseEnv[] = []
const running = new Set<Server>()
after(async () => {
  for (const { child } of running) child.kill('SIGKILL')
  await Promise.all([...running].map(({ ended }) => ended))
  for (const databaseEnv of databases) await removeDatabase(databaseEnv)
})

async function start(databaseEnv?: DatabaseEnv): Promise<Server> {
  const server = await startServer({ ...databaseEnv })
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

/** A request that is rejected because the process is busy is not counted. */
const burst = ({ request }: Server, key: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => retryWhile503(() => request('GET', '/v1/pets', { key }))))
const limits = async ({ request }: Server, key: string) => (await request('GET', '/v1/limits', { key })).json

/** The row as another process reads it. */
const stored = (env: DatabaseEnv, id: number) =>
  inDatabase(env, ({ read }) =>
    read.selectFrom('key_usage').selectAll().where('key_id', '=', id).executeTakeFirst(),
  )

test('windows and bans in the database survive a kill, which loses at most the last counts', async () => {
  const first = await start()
  const window = await makeKey(first)
  const last = await makeKey(first)
  const banned = await makeKey(first, { ...settings, limits: { perMinute: 1_000, perDay: 1 } })
  for (const { key } of [window, last])
    assert.ok((await burst(first, key, 30)).every(({ status }) => status === 200))
  const responses = await burst(first, banned.key, 1 + rejectionsToBan)
  assert.equal(responses.filter(({ json }) => json.code === 'key_banned').length, 1)
  const before = await limits(first, window.key)
  const { bannedUntil } = await limits(first, banned.key)
  await eventually('the counts and the ban are in the database', async () => {
    const rows = await Promise.all([window, last, banned].map(({ id }) => stored(first.databaseEnv, id)))
    return rows[0]?.day_used === 30 && rows[1]?.day_used === 30 && Number(rows[2]?.banned_until) > 0
  })
  await burst(first, last.key, 5)
  assert.equal((await end(first, 'SIGKILL')).signal, 'SIGKILL')

  const second = await start(first.databaseEnv)
  assert.deepEqual((await limits(second, window.key)).day, before.day)
  const later = await burst(second, window.key, 40)
  assert.equal(later.filter(({ status }) => status === 200).length, 20)
  assert.equal(later.filter(({ status }) => status === 429).length, 20)
  const { day } = await limits(second, last.key)
  assert.ok(day.remaining >= 15 && day.remaining <= 20, `${day.remaining} are left`)
  const [response] = await burst(second, banned.key, 1)
  assert.equal(response?.json.code, 'key_banned')
  assert.equal((await limits(second, banned.key)).bannedUntil, bannedUntil)
  await end(second, 'SIGTERM')
})

test('a clean stop loses no count, also not of requests that are admitted during it', async () => {
  const first = await start()
  const { key } = await makeKey(first)
  const admitted = await burst(first, key, 20)
  assert.ok(admitted.every(({ status }) => status === 200))
  assert.equal((await end(first, 'SIGTERM')).code, 0)

  const second = await start(first.databaseEnv)
  assert.equal((await limits(second, key)).day.remaining, 30)
  await burst(second, key, 1)
  const late = Promise.allSettled(
    Array.from({ length: 20 }, () => second.request('GET', '/v1/pets', { key })),
  )
  second.child.kill('SIGTERM')
  const responded = (await late).filter(({ status }) => status === 'fulfilled').length
  second.closeConnections()
  assert.equal((await second.ended).code, 0)
  running.delete(second)

  const third = await start(first.databaseEnv)
  const { day } = await limits(third, key)
  // Requests with a response were counted; aborted ones may have been.
  assert.ok(
    day.remaining <= 29 - responded && day.remaining >= 9,
    `${day.remaining} left, ${responded} completed`,
  )
  const rest = await burst(third, key, day.remaining + 5)
  assert.equal(rest.filter(({ status }) => status === 200).length, day.remaining)
  await end(third, 'SIGTERM')
})
