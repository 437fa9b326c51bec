import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { openPostgres } from '../../src/database/postgres/open.ts'
import { databaseFor, openDatabaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { clientFor } from '../support/lockWaiters.ts'
import { startTestService } from '../support/service.ts'

test('changes that wait for the lock of one animal do not stop others', async (t) => {
  const env = await databaseFor(t)
  // No request is rejected because it waits.
  const bounds = { inProgressMax: 10, waitMaxMs: 60_000, burstMaxMs: 60_000 }
  const service = await startTestService({ ...env, PETSTORE_METRICS_OPEN: 'true' }, { bounds })
  t.after(() => service.stop())
  const { key } = await service.makeKey({ plan: 'pro' })
  const create = () => service.request('POST', '/v1/pets', { key, body: { name: 'Milo', categoryId: 1 } })
  const [locked, free] = [(await create()).json.id, (await create()).json.id]
  const client = await clientFor(t, env)
  await client.query('BEGIN')
  await client.query('SELECT 1 FROM pets WHERE id = $1 FOR UPDATE', [locked])
  const change = (id: number, name: string) =>
    service.request('PATCH', `/v1/pets/${id}`, { key, body: { name } })
  const waiting = Array.from({ length: 30 }, (_, n) => change(locked, `Luna ${n}`))
  await eventually('all but two wait', async () => {
    const { text } = await service.request('GET', '/metrics')
    return /^petstore_writes_waiting (?:2[0-8])$/m.test(text)
  })
  assert.equal((await change(free, 'Nala')).status, 200)
  await client.query('ROLLBACK')
  // On a slow machine, the first two can reach the timeout of the lock.
  for (const { status } of await Promise.all(waiting))
    assert.ok(status === 200 || status === 503, `${status}`)
})

test('events are numbered while reads use all other connections', async (t) => {
  const { env } = await openDatabaseFor(t)
  const database = openPostgres({ url: env.DATABASE_URL ?? '', poolMax: 1 })
  t.after(() => database.close())
  const isTaken = Promise.withResolvers<void>()
  const isRead = Promise.withResolvers<void>()
  const reading = database.snapshot(async (db) => {
    await sql`SELECT 1`.execute(db)
    isTaken.resolve()
    await isRead.promise
  })
  await isTaken.promise
  assert.equal(await database.readableThrough(), 0)
  isRead.resolve()
  await reading
})
