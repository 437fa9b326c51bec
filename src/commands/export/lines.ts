import { sql } from 'kysely'
import { toJson } from '../../api/json.ts'
import type { Db } from '../../database/db.ts'
import type { Resource } from '../../records/resource.ts'
import { counters } from '../../resources.ts'

export type RowId = number | bigint

/** A line of the export. */
export type ExportLine = {
  readonly id: RowId
  /** The row that it belongs to, if the resource has an owner. */
  readonly ownerId: number | null
  readonly position: number
  readonly text: string
}

/** Rows that have one of the values in a column. */
export type Selection = { readonly column: string; readonly values: readonly RowId[] }

/** Runs the work in a snapshot of its own, or in one that is open. */
export type Snapshot = <T>(work: (db: Db) => Promise<T>) => Promise<T>

/** The most rows that one query reads, if the resource declares no other number. */
export const batchRowsMax = 2_000

/** The lines of the selected rows, or of all rows, in the order of their ids. */
export async function* readBatches(snapshot: Snapshot, resource: Resource, selection?: Selection) {
  for (let after: RowId | undefined; ; ) {
    const batch = await snapshot((db) => readBatch(db, resource, after, selection))
    yield batch
    if (batch.length < (resource.rowsPerBatch ?? batchRowsMax)) return
    after = batch.at(-1)?.id
  }
}

async function readBatch(
  db: Db,
  { type, table, idColumn, owner, positions, positionOf, toRecords, rowsPerBatch = batchRowsMax }: Resource,
  after: RowId | undefined,
  selection: Selection | undefined,
): Promise<ExportLine[]> {
  const idRef = sql.ref<RowId>(idColumn)
  // All tables have the same methods, which have no common type.
  let query = db.selectFrom(table as 'pets').selectAll()
  if (selection) query = query.where(db.dialect.isIn(selection.column, selection.values))
  if (after !== undefined) query = query.where(idRef, '>', after)
  const rows = await query.orderBy(idRef).limit(rowsPerBatch).execute()
  const records = rows.length > 0 ? await toRecords(rows, db) : []
  return rows.map((row, at) => {
    const values = row as Record<string, unknown>
    const id = values[idColumn] as RowId
    return {
      id,
      ownerId: owner ? (values[owner.column] as number) : null,
      position: positionOf?.(row) ?? (positions[0] as number),
      text: toJson({ type, id, ...records[at] }),
    }
  })
}

/** The places of all records in the file, in its order. */
export const filePositions = (resources: readonly Resource[]) =>
  resources
    .flatMap((resource) => resource.positions.map((position) => ({ resource, position })))
    .sort((a, b) => a.position - b.position)

export type TypedLine = { readonly type: string; readonly text: string }

/** All lines in the order of the file, from one snapshot. */
export async function* readLines(db: Db, resources: readonly Resource[]): AsyncGenerator<TypedLine> {
  for (const { resource, position } of filePositions(resources))
    for await (const lines of readBatches((work) => work(db), resource))
      for (const line of lines) if (line.position === position) yield { type: resource.type, text: line.text }
}

export type Counters = Readonly<Record<string, number>>

export async function readCounters(db: Db): Promise<Counters> {
  const values: Record<string, number> = {}
  for (const { name, read } of counters) values[name] = await read(db)
  return values
}
