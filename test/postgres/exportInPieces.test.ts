import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { toJson } from '../../src/api/json.ts'
import { byService } from '../../src/audit/audit.ts'
import { createCategory, deleteCategory, updateCategory } from '../../src/categories/queries.ts'
import { ExportCopy } from '../../src/commands/export/copy.ts'
import { copyDatabase } from '../../src/commands/export/copyDatabase.ts'
import { pageRowsMax } from '../../src/commands/export/sections.ts'
import { applyRecords } from '../../src/commands/import/applyRecords.ts'
import type { Database } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { restartFeed } from '../../src/events/queries.ts'
import { createKey, revokeKey } from '../../src/keys/queries.ts'
import {
  eraseCustomer,
  lockOrder,
  lockPetAndOrder,
  placeOrder,
  updateOrderStatus,
} from '../../src/orders/queries.ts'
import type { Pet } from '../../src/pets/pet.ts'
import { createPet, createPets, deletePet, findPetForUpdate, updatePet } from '../../src/pets/queries.ts'
import { cliOn } from '../support/commands.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { spawnPetstore } from '../support/process.ts'

const petCount = 2 * pageRowsMax + 500
const orderCount = 60
const holdMs = 1_000_000
const keySettings = {
  plan: 'free',
  limits: undefined,
  scopes: ['pets:read'],
  origins: [],
  expiresAt: undefined,
} as const
const newOrder = { customer: { name: 'Zoë', email: undefined }, note: 'garden', holdMs }

/** Pets on three pages, and orders. */
async function filledDatabase(t: TestContext) {
  const { env, database } = await openDatabaseFor(t)
  const pets = Array.from({ length: petCount }, (_, n) => ({ name: `Pet ${n}`, categoryId: BigInt(n % 5) }))
  await database.write((trx) => createPets(trx, pets, 1))
  await database.write(async (trx) => {
    for (let id = 1; id <= orderCount; id++) await placeOrder(trx, await petOf(trx, id), newOrder, 1)
  })
  return { env, database }
}

const petOf = async (trx: Trx, id: number): Promise<Pet> => (await findPetForUpdate(trx, BigInt(id))) as Pet

/** One change of every kind, of other rows in every turn. */
async function changeEverything({ write }: Database, turn: number): Promise<void> {
  const id = turn + 1
  await write(async (trx) => {
    await createPet(trx, { name: `New ${turn}`, categoryId: -BigInt(id) }, 2)
    // Of the first, the second and the last page.
    for (const changed of [1, pageRowsMax + 1, petCount])
      await updatePet(trx, await petOf(trx, changed), { name: `Turn ${turn}` }, 2)
    await deletePet(trx, await petOf(trx, pageRowsMax - id), 2)
    await deletePet(trx, await petOf(trx, petCount - id), 2)
    const { order, pet } = (await lockOrder(trx, id, 2)) as NonNullable<Awaited<ReturnType<typeof lockOrder>>>
    await updateOrderStatus(trx, order, pet, 'cancelled', 2)
    const free = await lockPetAndOrder(trx, BigInt(orderCount + id), 2)
    await placeOrder(trx, free.pet as Pet, newOrder, 2)
  })
  // Without an event.
  await write((trx) => eraseCustomer(trx, orderCount / 2 + id, 2))
  const imported = {
    type: 'order',
    id: orderCount - turn,
    petId: orderCount - turn,
    status: 'placed',
    customer: null,
    note: `Imported in turn ${turn}`,
    placedAt: 1,
    updatedAt: 1,
    holdExpiresAt: 1 + holdMs,
    cancelReason: null,
  } as const
  await write((trx) => applyRecords(trx, [imported], 2))
  await write(async (trx) => {
    const category = await createCategory(trx, `Category ${turn}`, 2)
    await updateCategory(trx, { id: 1n, name: `Turn ${turn}` }, 2)
    if (turn % 2) await deleteCategory(trx, category.id, 2)
    const { key } = await createKey(trx, { ...keySettings, name: `Key ${turn}` }, 'staging', byService(2))
    if (turn % 2) await revokeKey(trx, key, byService(2))
  })
}

async function exportOf(database: Database): Promise<string> {
  const copy = new ExportCopy()
  try {
    // Events get their ids at any time.
    const { lastEventId: _, ...counters } = await copyDatabase(database, copy, true)
    return [toJson(counters), ...copy.lines()].join('\n')
  } finally {
    copy.close()
  }
}

/** Shows only the lines that differ. */
function assertSame(actual: string, expected: string, message: string): void {
  const [actualLines, expectedLines] = [actual, expected].map((text) => new Set(text.split('\n'))) as [
    Set<string>,
    Set<string>,
  ]
  const missing = [...expectedLines.difference(actualLines)]
  const additional = [...actualLines.difference(expectedLines)]
  assert.deepEqual({ missing, additional }, { missing: [], additional: [] }, message)
  assert.ok(actual === expected, 'the lines have the same order')
}

/** The database as an export sees it. Calls back before each snapshot, with its number. */
const withHook = (database: Database, before: (snapshot: number) => Promise<void>): Database => {
  let snapshots = 0
  return {
    ...database,
    async snapshot(work) {
      await before(snapshots++)
      return database.snapshot(work)
    },
  }
}

async function snapshotsOf(database: Database): Promise<number> {
  let count = 0
  await exportOf(withHook(database, async () => void count++))
  return count
}

describe('an export', { concurrency: 2 }, () => {
  test('contains what was changed between its pieces', async (t) => {
    const { database } = await filledDatabase(t)
    const snapshots = await snapshotsOf(database)
    assert.ok(snapshots >= 6)
    for (let turn = 0; turn < snapshots; turn++) {
      const change = async (snapshot: number) => {
        if (snapshot === turn) await changeEverything(database, turn)
      }
      const exported = await exportOf(withHook(database, change))
      assertSame(exported, await exportOf(database), `changed before snapshot ${turn}`)
    }
  })

  test('contains what was changed between all of its pieces', async (t) => {
    const { database } = await filledDatabase(t)
    const exported = await exportOf(withHook(database, (turn) => changeEverything(database, turn)))
    assertSame(exported, await exportOf(database), 'as an export afterwards')
  })

  test('does not contain what was changed after its last snapshot', async (t) => {
    const { database } = await filledDatabase(t)
    await database.readableThrough()
    const last = (await snapshotsOf(database)) - 1
    const expected = await exportOf(database)
    let snapshots = 0
    const exported = await exportOf({
      ...database,
      snapshot: (work) =>
        database.snapshot(async (db) => {
          if (snapshots++ === last) {
            await sql`SELECT 1`.execute(db)
            await changeEverything(database, 0)
            await database.readableThrough()
          }
          return work(db)
        }),
    })
    // Sequences have no snapshots.
    const withoutCounters = (text: string) => text.slice(text.indexOf('\n'))
    assertSame(withoutCounters(exported), withoutCounters(expected), 'as an export before')
    assert.notEqual(withoutCounters(await exportOf(database)), withoutCounters(expected))
  })

  test('contains a change that was in progress when it began', async (t) => {
    const { database } = await filledDatabase(t)
    const begun = Promise.withResolvers<void>()
    const mayCommit = Promise.withResolvers<void>()
    const changes = [
      (trx: Trx) => eraseCustomer(trx, 5, 2),
      async (trx: Trx) => updatePet(trx, await petOf(trx, petCount), { name: 'Changed' }, 2),
    ].map((change) =>
      database.write(async (trx) => {
        await change(trx)
        // Draws an id of the transaction, whose change is sent at the end.
        await sql`SELECT pg_current_xact_id()`.execute(trx)
        begun.resolve()
        await mayCommit.promise
      }),
    )
    await begun.promise
    const last = (await snapshotsOf(database)) - 1
    const exported = await exportOf(
      withHook(database, async (snapshot) => {
        if (snapshot !== last) return
        mayCommit.resolve()
        await Promise.all(changes)
      }),
    )
    assertSame(exported, await exportOf(database), 'as an export afterwards')
    assert.match(exported, /"Changed"/)
  })

  test('catches up before its last snapshot, which reads few changes', async (t) => {
    const { database } = await filledDatabase(t)
    let isChanged = false
    const lines: number[] = []
    const change = async (snapshot: number) => {
      lines.push(snapshot)
      if (snapshot < 3 || isChanged) return
      isChanged = true
      for (let round = 0; round < 2; round++) {
        for (let from = orderCount + 1; from < petCount; from += 400)
          await database.write(async (trx) => {
            for (let id = from; id < Math.min(from + 400, petCount); id++)
              await updatePet(trx, await petOf(trx, id), { name: `Round ${round}` }, 2)
          })
      }
    }
    const quiet = await snapshotsOf(database)
    const exported = await exportOf(withHook(database, change))
    assertSame(exported, await exportOf(database), 'as an export afterwards')
    assert.ok(lines.length > quiet + 5, 'most changes are read in snapshots of their own')
  })

  test('has no transaction open between its pieces', async (t) => {
    const { database } = await filledDatabase(t)
    const open: unknown[] = []
    await exportOf(
      withHook(database, async () => {
        const { rows } = await sql`
          SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
          AND (xact_start IS NOT NULL OR backend_xmin IS NOT NULL) AND backend_type = 'client backend'`.execute(
          database.read,
        )
        open.push(...rows)
      }),
    )
    assert.deepEqual(open, [])
  })

  test('has no connection open while it waits for the reader of its output', async (t) => {
    const { env, database } = await filledDatabase(t)
    const connections = async () => {
      const { rows } = await sql`
        SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'petstore'
        AND pid <> pg_backend_pid()`.execute(database.read)
      return rows.length
    }
    // Those of this process.
    const own = await connections()
    const { child, ended } = spawnPetstore(['export'], env)
    child.stdout.pause()
    await eventually('it has written', () => child.stdout.readableLength > 0, 30_000)
    await eventually('its connections are closed', async () => (await connections()) <= own)
    assert.equal(child.exitCode, null, 'it waits')
    child.stdout.resume()
    const { code, stdout, stderr } = await ended
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    assert.equal(stdout, await cliOn(env).export())
  })

  test('fails if the feed was restarted during it', async (t) => {
    const { database } = await filledDatabase(t)
    const restart = async (snapshot: number) => {
      if (snapshot === 2) await database.write((trx) => restartFeed(trx, 0))
    }
    await assert.rejects(exportOf(withHook(database, restart)), /feed was restarted during the export/)
  })
})
