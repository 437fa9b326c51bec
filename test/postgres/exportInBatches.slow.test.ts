import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import * as z from 'zod'
import { toJson } from '../../src/api/json.ts'
import { byService } from '../../src/audit/audit.ts'
import { createCategory, deleteCategory, updateCategory } from '../../src/categories/queries.ts'
import { ExportCopy } from '../../src/commands/export/copy.ts'
import { copyInBatches } from '../../src/commands/export/copyInBatches.ts'
import { batchRowsMax } from '../../src/commands/export/lines.ts'
import { applyRecords } from '../../src/commands/import/applyRecords.ts'
import type { Database } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { recordEvent, restartFeed } from '../../src/events/queries.ts'
import { createKey, revokeKey } from '../../src/keys/queries.ts'
import {
  eraseCustomer,
  lockOrder,
  lockPetAndOrder,
  placeOrder,
  updateOrderStatus,
} from '../../src/orders/queries.ts'
import type { Pet } from '../../src/pets/pet.ts'
import { createPet, deletePet, findPetForUpdate, updatePet } from '../../src/pets/queries.ts'
import { createPets } from '../../src/pets/storedPets.ts'
import type { DecodedPhoto } from '../../src/photos/photo.ts'
import { addPhoto, removePhoto } from '../../src/photos/queries.ts'
import { emptyProfile } from '../../src/profiles/profile.ts'
import { recordProfileUpdates, replaceBonds, saveProfile } from '../../src/profiles/queries.ts'
import type { Resource } from '../../src/records/resource.ts'
import { defaultResource, resources } from '../../src/resources.ts'
import { findStoreProfileForUpdate, updateStoreProfile } from '../../src/store/queries.ts'
import { cliOn } from '../support/commands.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { spawnPetstore } from '../support/process.ts'
import { assertSameNames } from '../support/sameNames.ts'

const petCount = 2 * batchRowsMax + 500
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
const bytes = Buffer.from('a picture')
const decodedPhoto: DecodedPhoto = {
  ...{ width: 1, height: 1, color: '#808080' },
  files: { '320.webp': bytes, '640.webp': bytes, '1600.webp': bytes, '1600.jpg': bytes },
}

async function changeEverything({ write }: Database, turn: number): Promise<void> {
  const id = turn + 1
  await write(async (trx) => {
    await createPet(trx, { name: `New ${turn}`, categoryId: -BigInt(id) }, 2)
    // Of the first, the second and the last page.
    for (const changed of [1, batchRowsMax + 1, petCount])
      await updatePet(trx, await petOf(trx, changed), { name: `Turn ${turn}` }, 2)
    await deletePet(trx, await petOf(trx, batchRowsMax - id), 2)
    await deletePet(trx, await petOf(trx, petCount - id), 2)
    const { order, pet } = (await lockOrder(trx, id, 2)) as NonNullable<Awaited<ReturnType<typeof lockOrder>>>
    await updateOrderStatus(trx, order, pet, 'cancelled', 2)
    const free = await lockPetAndOrder(trx, BigInt(orderCount + id), 2)
    await placeOrder(trx, free.pet as Pet, newOrder, 2)
  })
  await write(async (trx) => {
    await saveProfile(trx, 1, { ...emptyProfile, externalId: `E${turn}`, description: `Turn ${turn}` })
    const bonded = await replaceBonds(trx, 1, [2, batchRowsMax + 1 + turn])
    await recordProfileUpdates(trx, [1, ...bonded], 2)
    const photo = await addPhoto(trx, petCount, turn, decodedPhoto, 2)
    if (turn % 2) await removePhoto(trx, [photo], photo, 2)
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
    const profile = await findStoreProfileForUpdate(trx)
    await updateStoreProfile(trx, { ...profile, name: `Turn ${turn}` }, 2)
  })
}

async function exportOf(database: Database, list: readonly Resource[] = resources): Promise<string> {
  const copy = new ExportCopy()
  try {
    // Events get their ids at any time.
    const { lastEventId: _, ...counters } = await copyInBatches(database, copy, list)
    return [toJson(counters), ...copy.lines(list).map(({ text }) => text)].join('\n')
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

async function snapshotsOf(database: Database, list?: readonly Resource[]): Promise<number> {
  let count = 0
  await exportOf(
    withHook(database, async () => void count++),
    list,
  )
  return count
}

describe('an export', { concurrency: 2 }, () => {
  test('is tested with changes of every resource', async (t) => {
    const { database } = await filledDatabase(t)
    const before = new Set((await exportOf(database)).split('\n'))
    await changeEverything(database, 0)
    const changed = (await exportOf(database))
      .split('\n')
      .slice(1)
      .filter((line) => !before.has(line))
    const types = new Set(changed.map((line) => JSON.parse(line).type ?? defaultResource.type))
    assertSameNames(
      'changeEverything',
      types,
      resources.map(({ type }) => type),
    )
  })

  test('contains what was changed between its batches', async (t) => {
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

  test('contains what was changed between all of its batches', async (t) => {
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
    const last = (await snapshotsOf(database)) - 1
    const mayCommit = Promise.withResolvers<void>()
    const begin = (change: (trx: Trx) => Promise<unknown>) => {
      const begun = Promise.withResolvers<void>()
      const ended = database.write(async (trx) => {
        // It is idle during the export, which can take longer than the service allows.
        await sql`SET LOCAL idle_in_transaction_session_timeout = 0`.execute(trx)
        await change(trx)
        // Draws an id of the transaction, whose change is sent at the end.
        await sql`SELECT pg_current_xact_id()`.execute(trx)
        begun.resolve()
        await mayCommit.promise
      })
      return { begun: Promise.race([begun.promise, ended]), ended }
    }
    const changes = [
      begin((trx) => eraseCustomer(trx, 5, 2)),
      begin(async (trx) => updatePet(trx, await petOf(trx, petCount), { name: 'Changed' }, 2)),
    ]
    const committed = () => {
      mayCommit.resolve()
      return Promise.all(changes.map(({ ended }) => ended))
    }
    await Promise.all(changes.map(({ begun }) => begun))
    const exported = await exportOf(
      withHook(database, async (snapshot) => {
        if (snapshot === last) await committed()
      }),
    ).finally(committed)
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
        for (let from = orderCount + 1; from < petCount; from += 100)
          await database.write(async (trx) => {
            for (let id = from; id < Math.min(from + 100, petCount); id++)
              await updatePet(trx, await petOf(trx, id), { name: `Round ${round}` }, 2)
          })
      }
    }
    const quiet = await snapshotsOf(database)
    const exported = await exportOf(withHook(database, change))
    assertSame(exported, await exportOf(database), 'as an export afterwards')
    assert.ok(lines.length > quiet + 5, 'most changes are read in snapshots of their own')
  })

  test('has no transaction open between its batches', async (t) => {
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

describe('what a row owns, and is deleted with,', () => {
  /** Two levels, in tables of their own: notes of pets, and marks of notes. Only the creation of a note has an event. */
  const notes = ownedResource('note', 'pet', 'test_notes')
  const marks = ownedResource('mark', 'note', 'test_marks')
  const list = [...resources, notes, marks]
  const ownerCount = 30
  const notesPerPet = 3

  async function withNotes(t: TestContext) {
    const { database } = await openDatabaseFor(t)
    const pets = Array.from({ length: ownerCount }, (_, n) => ({ name: `Pet ${n}`, categoryId: 1n }))
    await database.write((trx) => createPets(trx, pets, 1))
    await database.write(async (trx) => {
      for (const [table, owner] of [
        ['test_notes', 'pets'],
        ['test_marks', 'test_notes'],
      ] as const)
        await sql`CREATE TABLE ${sql.table(table)} (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
          owner_id bigint NOT NULL REFERENCES ${sql.table(owner)} ON DELETE CASCADE, text text NOT NULL)`.execute(
          trx,
        )
      await sql`INSERT INTO test_notes (owner_id, text)
        SELECT pets.id, 'note' FROM pets, generate_series(1, ${notesPerPet}::int)`.execute(trx)
      await sql`INSERT INTO test_marks (owner_id, text) SELECT id, 'mark' FROM test_notes`.execute(trx)
    })
    return database
  }

  /** Deletes a pet with what it owns, changes another one with what it owns, and adds a note, all of other rows in each turn. */
  const changeOwners = (database: Database, turn: number) =>
    database.write(async (trx) => {
      await deletePet(trx, await petOf(trx, 1 + turn), 2)
      const changed = ownerCount - turn
      await updatePet(trx, await petOf(trx, changed), { name: `Turn ${turn}` }, 2)
      const text = `turn ${turn}`
      await sql`UPDATE test_notes SET text = ${text} WHERE owner_id = ${changed}`.execute(trx)
      await sql`UPDATE test_marks SET text = ${text} WHERE owner_id IN
        (SELECT id FROM test_notes WHERE owner_id = ${changed})`.execute(trx)
      const added = await sql<{ id: number }>`
        INSERT INTO test_notes (owner_id, text) VALUES (${ownerCount / 2}, ${text}) RETURNING id`.execute(trx)
      const [note] = added.rows
      await sql`INSERT INTO test_marks (owner_id, text) VALUES (${note?.id}, ${text})`.execute(trx)
      await recordEvent(trx, 2, 'note.created' as 'pet.created', note as unknown as Pet)
    })

  test('is read again with its owner', async (t) => {
    const database = await withNotes(t)
    const snapshots = await snapshotsOf(database, list)
    assert.ok(snapshots < ownerCount / 2)
    for (let turn = 0; turn < snapshots; turn++) {
      const change = async (snapshot: number) => {
        if (snapshot === turn) await changeOwners(database, turn)
      }
      const exported = await exportOf(withHook(database, change), list)
      assert.match(exported, new RegExp(`"type":"mark","id":\\d+,"ownerId":\\d+,"text":"turn ${turn}"`))
      assertSame(exported, await exportOf(database, list), `changed before snapshot ${turn}`)
    }
    const { rows } = await sql<{ notes: number; marks: number }>`SELECT
      (SELECT count(*) FROM test_notes) AS notes, (SELECT count(*) FROM test_marks) AS marks`.execute(
      database.read,
    )
    const left = (ownerCount - snapshots) * notesPerPet + snapshots
    assert.deepEqual({ ...rows[0] }, { notes: left, marks: left })
  })
})

function ownedResource(type: string, owner: string, table: string): Resource {
  return {
    ...{ type, countName: `${type}s`, nouns: [type, `${type}s`], idColumn: 'id', batchMax: 1 },
    table: table as Resource['table'],
    owner: { type: owner, column: 'owner_id' },
    positions: [60],
    toRecords: (rows) =>
      (rows as unknown as { owner_id: number; text: string }[]).map(({ owner_id: ownerId, text }) => ({
        ...{ ownerId, text },
      })),
    schema: z.object({}),
    apply: () => assert.fail('An export applies nothing.'),
    findChanges: () => assert.fail('An export applies nothing.'),
  }
}
