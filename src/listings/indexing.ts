import { lockCursor, readCursor, writeCursor } from '../database/cursors.ts'
import type { Db, Trx } from '../database/db.ts'
import { eventsAfter, lastEventId, lastPrunedEventId } from '../events/queries.ts'
import { findPetsWithProfiles } from '../profiles/queries.ts'
import { searchIndexOf } from './searchIndexes.ts'
import { termsOf } from './terms.ts'

/** The last event whose change is in the index. */
const followedCursor = 'listings.followed'
/** While the index is filled, the last pet that is in it. */
const filledCursor = 'listings.filled'
/** Above every id: all pets are in the index. */
const complete = Number.MAX_SAFE_INTEGER
/** The most that one transaction indexes: other writes wait for it. */
const petsPerStep = 50
const eventsPerStep = 500

/** Only these events change what is indexed. Their `id` is that of the pet. */
const isIndexedType = (type: string): boolean => type.startsWith('pet.') || type.startsWith('profile.')

/** Whether the index has all pets. It can be a moment behind. */
export const isIndexComplete = async (db: Db): Promise<boolean> =>
  (await readCursor(db, filledCursor)) === complete

export async function needsIndexing(db: Db, through: number): Promise<boolean> {
  if (!(await isIndexComplete(db))) return true
  const followed = await readCursor(db, followedCursor)
  return (await lastEventId(db, through)) > followed || (await lastPrunedEventId(db)) > followed
}

/** Brings the index closer to the events up to the id `through`, by a bounded amount of work. */
export async function indexStep(trx: Trx, through: number): Promise<void> {
  // Before anything is read: another instance may do the same.
  const followed = await lockCursor(trx, followedCursor)
  const filled = await readCursor(trx, filledCursor)
  // After a restore, or a long pause, events are missing.
  const isBehind = (await lastPrunedEventId(trx)) > followed
  if (filled === 0 || isBehind) await startFilling(trx, through)
  else if (filled === complete) await follow(trx, followed, through)
  else await fill(trx, filled)
}

/** Rows that are read from now on contain the changes up to `through`. */
async function startFilling(trx: Trx, through: number): Promise<void> {
  await searchIndexOf(trx).clear(trx)
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

async function follow(trx: Trx, after: number, through: number): Promise<void> {
  const events = await eventsAfter(trx, after, eventsPerStep, true, through)
  const ids = new Set<number>()
  let last = after
  for (const { id, type, data } of events) {
    if (ids.size === petsPerStep) break
    if (isIndexedType(type)) ids.add(JSON.parse(data).id)
    last = id
  }
  await indexPets(trx, [...ids])
  // Another instance may have followed later events.
  await writeCursor(trx, followedCursor, events.length === 0 ? Math.max(after, through) : last)
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
