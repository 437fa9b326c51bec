import type { Problem } from './problems.ts'
import type { ExportRecord } from './records.ts'

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
  readonly records: ExportRecord[]
  readonly lines: number[]
  readonly problems: Problem[]
  readonly bytes: number
}
