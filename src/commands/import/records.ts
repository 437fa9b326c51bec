import * as z from 'zod'
import { integer } from '../../api/validation.ts'
import type { Trx } from '../../database/db.ts'
import { idMax, noCounts, type Resource, type ResourceRecord } from '../../records/resource.ts'
import { counters, resourceOf } from '../../resources.ts'
import type { Problem } from './problems.ts'

export const formatVersion = 1

export const headerType = 'petstore'
const headerSchema = z.object({
  type: z.literal(headerType),
  format: integer(formatVersion, formatVersion),
  ...Object.fromEntries(counters.map(({ name }) => [name, integer(0, idMax).optional()])),
})

/** What the reader and the writer of a file need of a resource. */
export type RecordKind = Pick<Resource, 'schema' | 'batchMax' | 'apply'>

/** The first line of an export continues the counters of the other database. */
const header: RecordKind = {
  schema: headerSchema,
  batchMax: 1,
  async apply(trx: Trx, [record]: readonly ResourceRecord[]) {
    const values = record as Readonly<Record<string, number | undefined>>
    for (const { name, reserve } of counters) await reserve(trx, values[name] ?? 0)
    return noCounts()
  },
}

/** Undefined for an unknown type. */
export const kindOf = (type: unknown): RecordKind | undefined =>
  type === headerType ? header : resourceOf(type)

export type ReadOptions = {
  readonly format: 'csv' | 'ndjson'
  /** Keys and counters are rejected without it. */
  readonly withKeys: boolean
  /** Fields by the headers of a CSV file. */
  readonly map: ReadonlyMap<string, string>
  /** The column or field with the external id. */
  readonly externalId: string | undefined
}

/** Some records of a file, with the line of each, and the wrong lines among them. */
export type Batch = {
  readonly records: ResourceRecord[]
  readonly lines: number[]
  readonly problems: Problem[]
  readonly bytes: number
}
