import { createHash } from 'node:crypto'
import type { IdentityTable } from '../../database/tables.ts'
import { Progress } from '../output/progress.ts'
import type { ExternalIds } from './conflicts/externalIds.ts'
import { IdRanges } from './conflicts/idRanges.ts'
import type { OrderLines } from './conflicts/orderLines.ts'
import type { ImportInput } from './input.ts'
import type { Problems } from './problems.ts'
import { readRecords } from './readRecords.ts'
import { isPetRecord, type ReadOptions } from './records.ts'

const tables = { pet: 'pets', order: 'orders', key: 'api_keys' } as const

export type CheckedFile = {
  readonly options: ReadOptions
  /** Identifies the file and the options that decide how it is read. */
  readonly digest: string
  /** The highest id for each table whose ids the database assigns. */
  readonly highestIds: ReadonlyMap<IdentityTable, number>
  /** The pets of the file, except those with an external id, which is yet to be checked. */
  readonly petIds: IdRanges
} & FileIndex

/** What is compared with the database and with other lines, in temporary files. */
type FileIndex = { readonly externalIds: ExternalIds; readonly orders: OrderLines }

/** Validates every line. What depends on the database or on other lines is left to `findConflicts`. */
export async function checkFile(
  input: ImportInput,
  options: ReadOptions,
  index: FileIndex,
  problems: Problems,
  signal: AbortSignal,
): Promise<CheckedFile> {
  using progress = new Progress('Checking')
  const hash = createHash('sha256').update(JSON.stringify({ ...options, map: [...options.map] }))
  const highestIds = new Map<IdentityTable, number>()
  const petIds = new IdRanges()
  let bytesRead = 0
  let checked = 0
  for await (const batch of readRecords(input.open(), options, (bytes) => void hash.update(bytes))) {
    signal.throwIfAborted()
    for (const problem of batch.problems) problems.add(problem)
    for (const [at, record] of batch.records.entries()) {
      if (record.type === 'petstore' || record.type === 'category') continue
      const { type = 'pet', id } = record
      const line = batch.lines[at] as number
      const table = tables[type]
      if (id !== undefined && id > (highestIds.get(table) ?? 0)) highestIds.set(table, id)
      if (isPetRecord(record)) {
        if (record.externalId !== undefined) index.externalIds.add(line, id, record.externalId)
        else if (id !== undefined) petIds.add(id)
      } else if (record.type === 'order') index.orders.add(line, record)
    }
    bytesRead += batch.bytes
    checked += batch.records.length
    progress.show(checked, 'lines', bytesRead / input.bytes)
  }
  return { options, digest: hash.digest('hex'), highestIds, petIds, ...index }
}
