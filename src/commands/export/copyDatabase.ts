import { parseJson } from '../../api/json.ts'
import type { Database } from '../../database/database.ts'
import type { Db } from '../../database/db.ts'
import { eventIdMax, eventsAfter, eventsWithoutId, lastPrunedEventId } from '../../events/queries.ts'
import type { ExportCopy } from './copy.ts'
import {
  type Counters,
  categories,
  keys,
  orders,
  pageRowsMax,
  pets,
  readCounters,
  readPages,
  type Section,
} from './sections.ts'

/** A snapshot that stays open keeps PostgreSQL from removing old versions of all rows. */
const lastSnapshotEventsMax = 2_000
/** If the database changes faster than it is read, the last snapshot reads what is missing, however long it takes. */
const catchUpRoundsMax = 20

/** Runs the work in a snapshot of its own, or in one that is open. */
type Snapshot = <T>(work: (db: Db) => Promise<T>) => Promise<T>

/**
 * Copies a PostgreSQL database as it is at one point in time. It is read in pieces, each with a short snapshot. The last
 * snapshot decides: the rows that were changed since they were read are read again in it.
 */
export async function copyDatabase(
  database: Database,
  copy: ExportCopy,
  withKeys: boolean,
): Promise<Counters> {
  const { snapshot } = database
  const silentOrderChanges = await snapshot(async (db) =>
    db.dialect.watchSilentChanges?.(db, 'orders', 'silently_changed_by'),
  )
  const start = await database.allReadableThrough()
  for (const section of [categories, orders, pets]) await copySection(snapshot, copy, section)
  const position = await catchUp(database, copy, start)
  return snapshot(async (db) => {
    if ((await lastPrunedEventId(db)) > start)
      throw new Error('The event feed was restarted during the export: run it again.')
    const inSnapshot: Snapshot = (work) => work(db)
    await applyEvents(inSnapshot, copy, position, eventIdMax)
    await applyChanges(inSnapshot, copy, await eventsWithoutId(db))
    await copyRows(inSnapshot, copy, orders, (await silentOrderChanges?.(db)) ?? [])
    // Not all changes of keys have an event.
    if (withKeys) await copySection(inSnapshot, copy, keys)
    return readCounters(db)
  })
}

async function copySection(snapshot: Snapshot, copy: ExportCopy, section: Section): Promise<void> {
  for await (const lines of readPages((after) => snapshot((db) => section.read(db, { after }))))
    copy.replace(section.type, [], lines)
}

/** Applies events until few are left. Returns the id of the last event that was applied. */
async function catchUp(database: Database, copy: ExportCopy, start: number): Promise<number> {
  let position = start
  for (let round = 0; round < catchUpRoundsMax; round++) {
    const through = await database.allReadableThrough()
    if (through - position <= lastSnapshotEventsMax) break
    await applyEvents(database.snapshot, copy, position, through)
    position = through
  }
  return position
}

/** Reads again the rows of the events with ids after `after` and up to `through`. */
async function applyEvents(snapshot: Snapshot, copy: ExportCopy, after: number, through: number) {
  for (let position = after; ; ) {
    const events = await snapshot((db) => eventsAfter(db, position, pageRowsMax, true, through))
    if (events.length === 0) return
    await applyChanges(snapshot, copy, events)
    position = events.at(-1)?.id as number
  }
}

type Change = { readonly type: string; readonly data: string }

async function applyChanges(snapshot: Snapshot, copy: ExportCopy, changes: readonly Change[]): Promise<void> {
  for (const section of [categories, orders, pets]) {
    const changed = changes.filter(({ type }) => type.startsWith(`${section.type}.`))
    const ids = changed.map(({ data }) => BigInt((parseJson(data) as { id: number | bigint }).id))
    await copyRows(snapshot, copy, section, [...new Set(ids)])
  }
}

/** Reads rows again. Those that do not exist any more are removed from the copy. */
async function copyRows(
  snapshot: Snapshot,
  copy: ExportCopy,
  section: Section,
  ids: readonly (number | bigint)[],
): Promise<void> {
  for (let from = 0; from < ids.length; from += pageRowsMax) {
    const some = ids.slice(from, from + pageRowsMax)
    copy.replace(section.type, some, await snapshot((db) => section.read(db, { ids: some })))
  }
}
