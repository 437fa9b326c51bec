import type { Selectable } from 'kysely'
import type * as z from 'zod'
import { integer } from '../api/validation.ts'
import { timeMaxMs } from '../clock.ts'
import type { Db, Trx } from '../database/db.ts'
import type { IdentityTable, Tables } from '../database/tables.ts'
import type { MaybePromise } from '../maybePromise.ts'

/** A record of an export: one JSON object on a line. Times are in milliseconds since the Unix epoch. */
export type ResourceRecord = { readonly type?: string | undefined; readonly id?: number | bigint | undefined }

/** Leaves as many ids for the service to assign, all below 2^53. */
export const idMax = 2 ** 52
export const recordId = integer(1, idMax)
export const recordTime = integer(0, timeMaxMs)

/** What an import does with a record. */
export type RecordChange = 'added' | 'changed' | 'unchanged'

/** The number of records by what an import did with them, and by the names of remarks. */
export type ImportCounts = Record<RecordChange, number> & { [remark: string]: number }

/** The highest id that was ever assigned. It is part of the first line of an export. */
export type Counter = {
  readonly name: string
  read(db: Db): Promise<number>
  /** Prevents ids up to this one from being assigned again. */
  reserve(trx: Trx, upTo: number): Promise<void>
}

/**
 * How the rows of a table are exported, imported and counted. A feature declares it in its `resource.ts`, and
 * `resources.ts` lists all of them.
 */
export type Resource<
  Imported extends ResourceRecord = ResourceRecord,
  Table extends keyof Tables = keyof Tables,
> = {
  /**
   * The type of its records. The types of its events begin with it, as in `pet.created`. A resource with an owner can have
   * events of its owner instead, as in `pet.note_added`: their `id` is that of the owner.
   */
  readonly type: string
  /** The name of its numbers in results, such as `pets`. */
  readonly countName: string
  /** Singular and plural, in messages. */
  readonly nouns: readonly [one: string, many: string]
  readonly table: Table
  readonly idColumn: string
  /** Undefined if the service assigns no ids. */
  readonly counter?: Counter
  /** The resource that its rows belong to, and are deleted with. It comes first in the list of resources. */
  readonly owner?: { readonly type: string; readonly column: string }
  /**
   * The events that concern its rows: the field of their data with the id of the row, by the beginning of their type. Those
   * with its type, by their `id`, if not declared.
   */
  readonly events?: Readonly<Record<string, string>>
  /** The most rows that an export reads at once. */
  readonly rowsPerBatch?: number
  /** An export with `--without-photos` leaves it out. */
  readonly isLarge?: true
  /** Only an import with `--with-keys` accepts it, and an export with `--without-keys` leaves it out. */
  readonly requiresWithKeys?: true

  /** Its places in the file, which an import reads in order. Lower numbers come first. */
  readonly positions: readonly number[]
  /** Which of several positions a row has. */
  positionOf?(row: Selectable<Tables[Table]>): number
  /** The fields of the records after `type` and `id`. */
  toRecords(rows: readonly Selectable<Tables[Table]>[], db: Db): MaybePromise<readonly object[]>
  /** Not all changes have an event, by which an export in batches finds them. Its rows are read in the last batch. */
  readonly hasUnrecordedChanges?: true
  /** For single changes without an event, on an engine that exports in batches: finds the rows changed since the call. */
  watchUnrecordedChanges?(db: Db): MaybePromise<((db: Db) => Promise<number[]>) | undefined>

  readonly schema: z.ZodType<Imported>
  /** Reads a record of the usual form, which begins at an index of the text, without the JSON parser and the schema. */
  parseFast?(text: string, start: number): { record: Imported; end: number } | undefined
  /** Finds, before anything is written, the records of a file that cannot be applied. */
  conflicts?(): Conflicts<Imported>
  /** The most records that are applied at once. */
  readonly batchMax: number
  apply(trx: Trx, records: readonly Imported[], now: number): Promise<ImportCounts>
  /** What an import would do with each record. */
  findChanges(db: Db, records: readonly Imported[], now: number): Promise<RecordChange[]>
  /** What identifies a record among those of its type. The first value decides. Its id, if not declared. */
  identitiesOf?(record: Imported): readonly (number | string)[]
  /** What a record sets of a row that exists. By it, a dry run knows what a later record about the same row changes. */
  stateOf?(record: Imported): unknown
  /** What the result of an import says about some of its records: a sentence about, for example, `2 keys`. */
  readonly remarks?: Readonly<Record<string, (counted: string) => string>>
}

/** The conflicts of the records of a file with the database and with each other. */
export type Conflicts<Imported extends ResourceRecord = ResourceRecord> = {
  add(line: number, record: Imported): void
  find(context: ConflictContext): AsyncIterable<{ line: number; reason: string }>
  /** Whether the file has a record with this id. To be called after `find`, if it finds conflicts of the resource. */
  has?(id: number): boolean
  close(): void
}

export type ConflictContext = {
  /** Without a database, nothing is stored. */
  readonly db: Db | undefined
  /** Lines up to this one are in the database already. */
  readonly committed: number
  readonly now: number
  /** Whether the file has a record of an earlier resource in the list. */
  hasRecord(type: string, id: number): boolean
  /** Called after each step of the work, for example to let others run. */
  pause?(): Promise<void>
}

/** A record that had no conflict when the file was checked conflicts with the database. */
export class ConflictError extends Error {}

/** The counter of a table whose ids the database assigns. */
export const identityCounter = (name: string, table: IdentityTable): Counter => ({
  name,
  read: (db) => db.dialect.lastAssignedId(db, table),
  reserve: (trx, upTo) => trx.dialect.reserveIds(trx, table, upTo),
})

export const noCounts = (): ImportCounts => ({ added: 0, changed: 0, unchanged: 0 })

export function addCounts(total: ImportCounts, counts: ImportCounts): void {
  for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count
}

export function countChanges(changes: readonly RecordChange[]): ImportCounts {
  const counts = noCounts()
  for (const change of changes) counts[change]++
  return counts
}

/** For a resource whose records are applied one by one. `apply` returns the change, and the remarks. */
export const oneByOne = <Imported extends ResourceRecord>(
  apply: (trx: Trx, record: Imported, now: number) => Promise<readonly [RecordChange, ...remarks: string[]]>,
  findChange: (db: Db, record: Imported, now: number) => Promise<RecordChange>,
): Pick<Resource<Imported>, 'batchMax' | 'apply' | 'findChanges'> => ({
  batchMax: 1,
  async apply(trx, records, now) {
    const counts = noCounts()
    for (const record of records)
      for (const name of await apply(trx, record, now)) counts[name] = (counts[name] ?? 0) + 1
    return counts
  },
  findChanges: (db, records, now) => Promise.all(records.map((record) => findChange(db, record, now))),
})
