import { parseJson } from '../../api/json.ts'
import type { Database } from '../../database/database.ts'
import { eventIdMax, eventsAfter, eventsWithoutId, lastPrunedEventId } from '../../events/queries.ts'
import type { Resource } from '../../records/resource.ts'
import type { ExportCopy } from './copy.ts'
import { batchRowsMax, type RowId, readBatches, readCounters, type Snapshot } from './lines.ts'

/** A snapshot that stays open keeps PostgreSQL from removing old versions of all rows. */
const lastSnapshotEventsMax = 2_000
/** If the database changes faster than it is read, the last snapshot reads what is missing, however long it takes. */
const catchUpRoundsMax = 20

/**
 * Copies a PostgreSQL database as it is at one point in time. It is read in batches, each with a short snapshot. The last
 * snapshot decides: the rows that were changed since they were read are read again in it, with what they own.
 */
export async function copyInBatches(database: Database, copy: ExportCopy, resources: readonly Resource[]) {
  const { snapshot } = database
  const recorded = resources.filter(({ hasUnrecordedChanges }) => !hasUnrecordedChanges)
  const copier = new BatchCopier(copy, recorded)
  const unrecordedChanges = await snapshot((db) =>
    Promise.all(resources.map(async (resource) => resource.watchUnrecordedChanges?.(db))),
  )
  const start = await database.allReadableThrough()
  // Owners first, so that no row is copied before its owner: what is deleted with a row is found by its copy.
  for (const resource of recorded) await copier.copyAll(snapshot, resource)
  const position = await catchUp(database, copier, start)
  return snapshot(async (db) => {
    if ((await lastPrunedEventId(db)) > start)
      throw new Error('The event feed was restarted during the export: run it again.')
    const inSnapshot: Snapshot = (work) => work(db)
    await copier.applyEvents(inSnapshot, position, eventIdMax)
    await copier.applyChanges(inSnapshot, await eventsWithoutId(db))
    for (const [at, resource] of resources.entries()) {
      if (resource.hasUnrecordedChanges) await copier.copyAll(inSnapshot, resource)
      const ids = (await unrecordedChanges[at]?.(db)) ?? []
      await copier.copyRows(inSnapshot, resource, resource.idColumn, ids)
    }
    return readCounters(db)
  })
}

/** Applies events until few are left. Returns the id of the last event that was applied. */
async function catchUp(database: Database, copier: BatchCopier, start: number): Promise<number> {
  let position = start
  for (let round = 0; round < catchUpRoundsMax; round++) {
    const through = await database.allReadableThrough()
    if (through - position <= lastSnapshotEventsMax) break
    await copier.applyEvents(database.snapshot, position, through)
    position = through
  }
  return position
}

type Change = { readonly type: string; readonly data: string }

class BatchCopier {
  readonly #copy: ExportCopy
  /** Those whose changes have events. */
  readonly #recorded: readonly Resource[]

  constructor(copy: ExportCopy, recorded: readonly Resource[]) {
    this.#copy = copy
    this.#recorded = recorded
  }

  async copyAll(snapshot: Snapshot, resource: Resource): Promise<void> {
    for await (const lines of readBatches(snapshot, resource)) this.#copy.add(resource, lines)
  }

  /** Reads again the rows of the events with ids after `after` and up to `through`. */
  async applyEvents(snapshot: Snapshot, after: number, through: number): Promise<void> {
    for (let position = after; ; ) {
      const events = await snapshot((db) => eventsAfter(db, position, batchRowsMax, true, through))
      if (events.length === 0) return
      await this.applyChanges(snapshot, events)
      position = events.at(-1)?.id as number
    }
  }

  async applyChanges(snapshot: Snapshot, changes: readonly Change[]): Promise<void> {
    for (const resource of this.#recorded) {
      const fields = Object.entries(resource.events ?? { [`${resource.type}.`]: 'id' })
      const ids = changes.flatMap(({ type, data }) => {
        const [, field] = fields.find(([start]) => type.startsWith(start)) ?? []
        return field === undefined ? [] : BigInt((parseJson(data) as Record<string, RowId>)[field] as RowId)
      })
      await this.copyRows(snapshot, resource, resource.idColumn, [...new Set(ids)])
    }
  }

  /**
   * Reads again the rows that have one of the values in the column, and what they own: an owned row is deleted with its
   * owner, without an event. What does not exist any more is removed from the copy.
   */
  async copyRows(snapshot: Snapshot, resource: Resource, column: string, values: readonly RowId[]) {
    for (let from = 0; from < values.length; from += batchRowsMax) {
      const selection = { column, values: values.slice(from, from + batchRowsMax) }
      const ids = new Set(this.#copy.delete(resource, selection))
      for await (const lines of readBatches(snapshot, resource, selection)) {
        this.#copy.add(resource, lines)
        for (const { id } of lines) ids.add(id)
      }
      for (const owned of this.#recorded)
        if (owned.owner?.type === resource.type)
          await this.copyRows(snapshot, owned, owned.owner.column, [...ids])
    }
  }
}
