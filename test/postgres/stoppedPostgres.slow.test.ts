import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type DatabaseEnv, inDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { startLoad } from '../support/load.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { type OwnPostgres, ownPostgresFor } from '../support/separatePostgres.ts'
import { type Server, serverFor } from '../support/servers.ts'

const adminKey = 'the-admin-key-of-the-stopped-test'
const stoppedMs = 10_000
const poolMax = 5
const callers = 8

/** The bounds of a read and of a write, as in faults.test.ts. */
const longestWaitMs = { read: 10_000, write: 20_000 }
const slackMs = 5_000

/** Stops all processes of PostgreSQL. The first is stopped first, so that it cannot start others. */
function stop({ postmaster, children }: OwnPostgres): { goOn(): void } {
  process.kill(postmaster, 'SIGSTOP')
  const held = [postmaster, ...children()]
  for (const pid of held) process.kill(pid, 'SIGSTOP')
  return {
    goOn() {
      // Once only: another process may have the id of a process that has ended.
      for (const pid of held.splice(0)) {
        if (pid === postmaster || children().includes(pid)) process.kill(pid, 'SIGCONT')
      }
    },
  }
}

async function isReady(server: Server): Promise<boolean> {
  return (await server.request('GET', '/readyz')).status === 200
}

/** A write, and a read that shows it. */
async function isHealthy(server: Server, key: string, name: string): Promise<boolean> {
  const added = await server.request('POST', '/v1/pets', { key, body: { name, categoryId: 7 } })
  if (added.status !== 201) return false
  const { status, json } = await server.request('GET', `/v1/pets?id=${added.json.id}`, { key })
  return status === 200 && json[0].name === name && (await isReady(server))
}

const petsIn = (env: DatabaseEnv) =>
  inDatabase(env, ({ read }) => read.selectFrom('pets').select(['id', 'name']).execute())

test(`a PostgreSQL that is stopped for ${stoppedMs / 1000} s under the load of two instances: no request exceeds its bound, nothing is lost, and the service recovers soon`, async (t) => {
  const undo = reverseCleanup(t)
  const postgres = await ownPostgresFor(undo)
  const env = {
    ...postgres.databaseEnv,
    PETSTORE_ADMIN_KEY: adminKey,
    PETSTORE_DATABASE_POOL: String(poolMax),
    PETSTORE_LOG_LEVEL: 'silent',
  }
  const first = await serverFor(undo, env)
  const servers = [first, await serverFor(undo, env)]
  const made = await first.request('POST', '/v1/keys', {
    key: adminKey,
    body: { name: 'busy', plan: 'enterprise', limits: { perMinute: 1_000_000, perDay: 10_000_000 } },
  })
  const key: string = made.json.key
  const load = startLoad(servers, { callers, key })
  undo.after(() => load.stop().catch(() => {}))
  await eventually('every caller is served', () => load.leastGood() >= 10, 30_000)

  const { goOn } = stop(postgres)
  undo.after(goOn)
  const stoppedAt = performance.now()
  const readiness = await Promise.all(servers.map(isReady))
  assert.deepEqual(readiness, [false, false])
  for (const server of servers) assert.equal((await server.request('GET', '/healthz')).status, 200)
  await pause(stoppedMs - (performance.now() - stoppedAt))
  const rejected = load.leastRejected()
  goOn()

  const goneOnAt = performance.now()
  const wholeMs = await Promise.all(
    servers.map(async (server, n) => {
      let turn = 0
      await eventually('a change and a read', () => isHealthy(server, key, `whole ${n} ${turn++}`), 30_000)
      return performance.now() - goneOnAt
    }),
  )
  const goodBefore = load.leastGood()
  await eventually('every caller is served again', () => load.leastGood() >= goodBefore + 3, 30_000)
  await load.stop()

  const { read, write } = load.longestMs
  t.diagnostic(
    `longest wait ${Math.round(read)} ms for a read, ${Math.round(write)} ms for a change; recovered ${wholeMs.map(Math.round).join(' and ')} ms after it continued; changes: ${load.created.size} made, ${load.rejected.length} rejected, ${load.unknown.length} unknown`,
  )
  assert.ok(rejected > 0, 'every caller was rejected during the stop')
  assert.ok(read < longestWaitMs.read + slackMs, `a read took ${read} ms`)
  assert.ok(write < longestWaitMs.write + slackMs, `a change took ${write} ms`)

  const pets = (await petsIn(postgres.databaseEnv)).filter(({ name }) => name.startsWith('load '))
  const byId = new Map(pets.map(({ id, name }) => [id, name]))
  for (const [id, name] of load.created) assert.equal(byId.get(id), name, `animal ${id} got 201`)
  const names = new Set(byId.values())
  for (const { name } of load.rejected) assert.ok(!names.has(name), `${name} was rejected, but exists`)
  assert.equal(names.size, pets.length, 'every pet exists once')
  for (const { child } of servers) assert.equal(child.exitCode, null, 'no instance has exited')

  // Failed connections are closed: each instance has its pool, and one connection to write.
  await eventually('no connection leaks', async () => {
    const { rows } = await postgres.administer(
      `SELECT count(*) FROM pg_stat_activity WHERE datname = '${postgres.databaseName}' AND application_name = 'petstore'`,
    )
    return Number(rows[0].count) <= servers.length * 2 * poolMax
  })
})
