import { createHash } from 'node:crypto'
import type { IdentityTable } from '../../database/tables.ts'
import { isOpenOrderStatus } from '../../orders/order.ts'
import { Progress } from '../output/progress.ts'
import type { ReadOptions } from './batch.ts'
import type { ExternalIds } from './externalIds.ts'
import { IdRanges } from './idRanges.ts'
import type { ImportInput } from './input.ts'
import type { Problems } from './problems.ts'
import { readRecords } from './readRecords.ts'
import { isPetRecord } from './records.ts'

const tables = { pet: 'pets', order: 'orders', key: 'api_keys' } as const

export type CheckedFile = {
  readonly options: ReadOptions
  /** Identifies the file and the options that decide how it is read. */
  readonly digest: string
  /** The highest id for each table whose ids the database assigns. */
  readonly highestIds: ReadonlyMap<IdentityTable, number>
  /** The pets of the file, except those with an external id, which is yet to be checked. */
  readonly petIds: IdRanges
  readonly externalIds: ExternalIds
  /** Lines of open orders by their pet. */
  readonly openOrders: ReadonlyMap<number, number[]>
}

/** Validates every line. What depends on the database or on other lines is left to `findConflicts`. */
export async function checkFile(
  input: ImportInput,
  options: ReadOptions,
  externalIds: ExternalIds,
  problems: Problems,
): Promise<CheckedFile> {
  const progress = new Progress('Checking')
  const hash = createHash('sha256').update(JSON.stringify({ ...options, map: [...options.map] }))
  const highestIds = new Map<IdentityTable, number>()
  const petIds = new IdRanges()
  const openOrders = new Map<number, number[]>()
  let bytesRead = 0
  let checked = 0
  for await (const batch of readRecords(input.open(), options, (bytes) => void hash.update(bytes))) {
    for (const problem of batch.problems) problems.add(problem)
    for (const [at, record] of batch.records.entries()) {
      if (record.type === 'petstore' || record.type === 'category') continue
      const { type = 'pet', id } = record
      const line = batch.lines[at] as number
      if (isPetRecord(record)) externalIds.add(line, record)
      if (id === undefined) continue
      const table = tables[type]
      if (id > (highestIds.get(table) ?? 0)) highestIds.set(table, id)
      if (isPetRecord(record)) {
        if (record.externalId === undefined) petIds.add(id)
      } else if (record.type === 'order' && isOpenOrderStatus(record.status))
        openOrders.set(record.petId, [...(openOrders.get(record.petId) ?? []), line])
    }
    bytesRead += batch.bytes
    checked += batch.records.length
    progress.show(checked, 'lines', bytesRead / input.bytes)
  }
  progress.end()
  return { options, digest: hash.digest('hex'), highestIds, petIds, externalIds, openOrders }
}
