import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import { lockCursor, readCursor, writeCursor } from '../database/cursors.ts'
import type { Db, Trx } from '../database/db.ts'
import { eventsAfter, lastEventId, lastPrunedEventId, prunedCursor } from '../events/queries.ts'
import { findPetsWithProfiles } from '../profiles/queries.ts'
import { searchIndexOf } from './searchIndexes.ts'
import { termsOf } from './terms.ts'

/** The last event whose change is in the index, with the terms of 1.4.0. */
const followedCursor = 'listings.followed.2'
/** While the index is filled, the last pet that is in it. */
const filledCursor = 'listings.filled.2'
/** Before every id: the rows of the index are replaced, not deleted first. */
const beforeAll = -1
/** Above every id: all pets are in the index. */
const complete = Number.MAX_SAFE_INTEGER
/** The most that one transaction indexes: other writes wait for it. */
const petsPerStep = 50
const eventsPerStep = 500
/** The index is late if it does not have a change that is older than this. */
const lateMs = 1_500

type Progress = {
  /** Whether the index has all events now. */
  readonly isCurrent: boolean
  /** The age of the oldest event that was not indexed when the step began. */
  readonly behindMs: number
  /** When the last event was made that the step has indexed. */
  readonly indexedUntil: number
}

export const isLate = ({ behindMs }: Progress): boolean => behindMs > lateMs

/** Only these events change what is indexed. Their `id` is that of the pet. */
const isIndexedType = (type: string): boolean => type.startsWith('pet.') || type.startsWith('profile.')

/**
 * Has one row if the index has all pets: when the oldest change was made that it does not have yet, or null. It has no
 * row while the index is being built, or has to be built again.
 */
export const indexStateOf = (db: Db) => sql`
  SELECT coalesce(
    (SELECT created_at FROM events WHERE id > followed.value ORDER BY id LIMIT 1),
    (${searchIndexOf(db).oldestWithoutId})
  ) AS pending_since
  FROM cursors AS followed JOIN cursors AS filled ON filled.name = ${filledCursor} AND filled.value = ${complete}
  WHERE followed.name = ${followedCursor}
    AND followed.value >= coalesce((SELECT value FROM cursors WHERE name = ${prunedCursor}), 0)`

export async function needsIndexing(db: Db, through: number): Promise<boolean> {
  if ((await readCursor(db, filledCursor)) !== complete) return true
  const followed = await readCursor(db, followedCursor)
  return (await lastEventId(db, through)) > followed || (await lastPrunedEventId(db)) > followed
}

/** Brings the index closer to the events up to the id `through`, by a bounded amount of work. */
export async function indexStep(trx: Trx, through: number, clock: Clock): Promise<Progress> {
  // Before anything is read: another instance may do the same.
  let followed = await lockCursor(trx, followedCursor)
  let filled = await readCursor(trx, filledCursor)
  // Instances of 1.3.0, which may still run, search the same rows. They do not miss any while the rows are replaced.
  if (followed === 0 && filled === 0 && (await readCursor(trx, 'listings.filled')) === complete) {
    followed = await readCursor(trx, 'listings.followed')
    filled = beforeAll
    await writeCursor(trx, followedCursor, followed)
  }
  // After a restore, or a long pause, events are missing.
  const areEventsMissing = (await lastPrunedEventId(trx)) > followed
  if (filled === complete && !areEventsMissing) return follow(trx, followed, through, clock())
  if (filled === 0 || areEventsMissing) await startFilling(trx, through)
  else await fill(trx, filled)
  return { isCurrent: false, behindMs: 0, indexedUntil: clock() }
}

async function startFilling(trx: Trx, through: number): Promise<void> {
  // The index is not complete as soon as its first row is deleted.
  if (await searchIndexOf(trx).clear(trx)) return writeCursor(trx, filledCursor, 0)
  // Rows that are read from now on contain the changes up to `through`.
  await writeCursor(trx, followedCursor, Math.max(through, await lastPrunedEventId(trx)))
  await fill(trx, 0)
}

async function fill(trx: Trx, after: number): Promise<void> {
  const rows = await trx
    .selectFrom('pets')
    .select('id')
    .where('id', '>', after)
    .orderBy('id')
    .limit(petsPerStep)
    .execute()
  const ids = rows.map(({ id }) => id)
  await indexPets(trx, ids)
  await writeCursor(trx, filledCursor, ids.at(-1) ?? complete)
}

async function follow(trx: Trx, after: number, through: number, now: number): Promise<Progress> {
  const events = await eventsAfter(trx, after, eventsPerStep, true, through)
  const behindMs = now - (events[0]?.createdAt ?? now)
  const petsMax = behindMs > lateMs ? searchIndexOf(trx).petsPerLateStep : petsPerStep
  const ids = new Set<number>()
  let last = after
  let indexedUntil = now
  for (const { id, type, data, createdAt } of events) {
    if (ids.size === petsMax) break
    if (isIndexedType(type)) ids.add(JSON.parse(data).id)
    last = id
    indexedUntil = createdAt
  }
  await indexPets(trx, [...ids])
  // Another instance may have followed later events.
  await writeCursor(trx, followedCursor, events.length === 0 ? Math.max(after, through) : last)
  const isCurrent = events.length < eventsPerStep && last === (events.at(-1)?.id ?? after)
  return { isCurrent, behindMs, indexedUntil }
}

/** Pets that do not exist any more are removed from the index. */
async function indexPets(trx: Trx, ids: readonly number[]): Promise<void> {
  const index = searchIndexOf(trx)
  const animals = await findPetsWithProfiles(trx, ids)
  const rows = animals.map(({ pet, profile }) => ({ id: pet.id, terms: termsOf(pet, profile) }))
  await index.replace(trx, rows)
  const existing = new Set(rows.map(({ id }) => id))
  await index.delete(
    trx,
    ids.filter((id) => !existing.has(id)),
  )
}
