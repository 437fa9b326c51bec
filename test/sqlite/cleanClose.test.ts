import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import type { StorageFault } from '../../src/database/database.ts'
import { disk } from '../support/disk.ts'
import { eventually } from '../support/eventually.ts'

// Loaded after the module that replaces fdatasync.
const { DatabaseSync } = await import('node:sqlite')
const { DatabaseUnavailableError } = await import('../../src/database/database.ts')
const { openForServing } = await import('../../src/database/open.ts')
const { SqliteDb } = await import('../../src/database/sqlite/driver.ts')
const { Durability } = await import('../../src/database/sqlite/durability.ts')
const { databaseFile } = await import('../../src/database/sqlite/open.ts')
const { needsRecovery } = await import('../../src/database/sqlite/recovery.ts')
const { startSchedule } = await import('../../src/schedule.ts')
const { databaseFor, inDatabase } = await import('../support/engine.ts')
const { startTestService } = await import('../support/service.ts')

type Database = Awaited<ReturnType<typeof openForServing>>

async function servedDatabase(t: TestContext) {
  const env = await databaseFor(t)
  const database = await openForServing({ dataDir: env.PETSTORE_DATA_DIR, environment: 'production' }, 0)
  const faults: StorageFault[] = []
  database.onStorageFault((fault) => faults.push(fault))
  t.after(() => disk.set('ok'))
  return { env, database, faults }
}

const addCategory = (database: Database, id: bigint) =>
  database.write(async (trx) => {
    await trx.insertInto('categories').values({ category_id: id, name: null }).execute()
  })

test('a database that is closed while a write follows another makes both durable', async (t) => {
  const { env, database, faults } = await servedDatabase(t)
  disk.set('hang')
  const both = addCategory(database, 1n).then(() => addCategory(database, 2n))
  await eventually('the first write waits for the disk', () => disk.isBusy)
  const closed = database.close()
  disk.set('ok')
  await Promise.all([both, closed])
  assert.deepEqual(faults, [])
  const rows = await inDatabase(env, ({ read }) => read.selectFrom('categories').selectAll().execute())
  assert.equal(rows.length, 2)
})

test('a write after the close is rejected, and reports no fault', async (t) => {
  const { database, faults } = await servedDatabase(t)
  await addCategory(database, 1n)
  await database.close()
  await assert.rejects(addCategory(database, 2n), DatabaseUnavailableError)
  assert.deepEqual(faults, [])
})

/** On a disk that is not that of a service, so that a test decides on every sync. */
async function durabilityFor(t: TestContext, syncMaxMs: number) {
  const env = await databaseFor(t)
  const file = databaseFile(env.PETSTORE_DATA_DIR)
  const writer = new DatabaseSync(file)
  t.after(() => writer.close())
  t.after(() => disk.set('ok'))
  const faults: StorageFault[] = []
  const durability = new Durability({
    ...{ databaseFile: file, writer, read: new SqliteDb(writer), syncMaxMs },
    externalVersion: () => 1,
    onFault: (fault) => faults.push(fault),
  })
  writer.exec('CREATE TABLE written (n)')
  return { durability, faults, isMarkedAsFailed: () => needsRecovery(file) }
}

test('a sync that is requested during or after the close does not report a failed disk', async (t) => {
  const { durability, faults, isMarkedAsFailed } = await durabilityFor(t, 10_000)
  await durability.sync()
  const [running, next] = [durability.sync(), durability.sync()]
  const closed = durability.close()
  const during = durability.sync()
  await assert.rejects(during, DatabaseUnavailableError)
  await Promise.all([running, next, closed])
  await assert.rejects(durability.sync(), DatabaseUnavailableError)
  assert.deepEqual(faults, [])
  assert.ok(!durability.hasFailed && !isMarkedAsFailed())
})

test('a sync that is overdue and then fails does not report that the disk responds again', async (t) => {
  const { durability, faults } = await durabilityFor(t, 1)
  disk.set('hang')
  const sync = assert.rejects(durability.sync(), { code: 'EIO' })
  await eventually('the sync is overdue', () => faults.length > 0)
  disk.set('fail')
  await sync
  assert.deepEqual(
    faults.map(({ kind }) => kind),
    ['overdue', 'failed'],
  )
  assert.throws(() => durability.assertWritable(), /The disk has failed/)
  await durability.close()
})

test('a checkpoint that fails while a sync is overdue is final, although the sync completes', async (t) => {
  const { durability, faults } = await durabilityFor(t, 1)
  disk.set('hang')
  const sync = durability.sync()
  await eventually('the sync is overdue', () => faults.length > 0)
  durability.fail(new Error('The checkpoint failed.'))
  disk.set('ok')
  await sync
  assert.deepEqual(
    faults.map(({ kind }) => kind),
    ['overdue', 'failed'],
  )
})

test('the stop of the schedule waits for the jobs that run, and starts no others', async () => {
  const held = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  let runs = 0
  const run = async () => {
    runs++
    started.resolve()
    await held.promise
  }
  const stop = startSchedule([{ intervalMs: 1, run }], { error: assert.fail } as never)
  await started.promise
  let isStopped = false
  const stopped = Promise.resolve(stop()).then(() => {
    isStopped = true
  })
  await new Promise(setImmediate)
  assert.ok(!isStopped)
  held.resolve()
  await stopped
  assert.equal(runs, 1)
})

/** Everything that does not wait for the disk happens in a few iterations of the event loop. */
async function iterations(): Promise<void> {
  for (let n = 0; n < 20; n++) await new Promise(setImmediate)
}

const insertOldAuditEntries = sql`
  INSERT INTO audit_entries (at, actor_command, action, subject)
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
  SELECT 0, 'test', 'key.created', 'key 1' FROM n`

test('a stop during background jobs is clean', async () => {
  const service = await startTestService({}, { bounds: { sweepMs: 1 } })
  disk.set('hang')
  await eventually('a job waits for the disk', () => disk.isBusy)
  // Work for many steps.
  await (await service.openDatabase()).writeUnlogged((trx) => insertOldAuditEntries.execute(trx))
  const stopped = service.stop()
  await eventually('the port is closed', () =>
    fetch(service.base).then(
      () => false,
      () => true,
    ),
  )
  await iterations()
  disk.set('ok')
  await stopped
  // A job that still runs reports its error.
  await iterations()
  const problems = service.logLines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40)
  assert.deepEqual(problems, [])
})
