import { createHash } from 'node:crypto'
import type { IdentityTable } from '../../database/tables.ts'
import { isOpenOrderStatus } from '../../orders/order.ts'
import { Progress } from '../output/progress.ts'
import type { Batch, ReadOptions } from './batch.ts'
import { IdRanges } from './idRanges.ts'
import type { ImportInput } from './input.ts'
import type { Problems } from './problems.ts'
import { readRecords } from './readRecords.ts'
import { isPetRecord } from './records.ts'

const tables = { pet: 'pets', order: 'orders', key: 'api_keys' } as const

export type CheckedFile = {
  /** Identifies the file and the options that decide how it is read. */
  readonly digest: string
  /** The highest id for each table whose ids the database assigns. */
  readonly highestIds: ReadonlyMap<IdentityTable, number>
  /** Lines of open orders by their pet, if the pet is not in the file. */
  readonly ordersWithoutPet: ReadonlyMap<number, number[]>
}

/** Validates every line. Calls back with what is read, for a dry run. */
export async function checkFile(
  input: ImportInput,
  options: ReadOptions,
  problems: Problems,
  onBatch?: (batch: Batch) => Promise<void>,
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
      if (id === undefined) continue
      const table = tables[type]
      if (id > (highestIds.get(table) ?? 0)) highestIds.set(table, id)
      if (isPetRecord(record)) petIds.add(id)
      else if (record.type === 'order' && isOpenOrderStatus(record.status)) {
        const lines = openOrders.get(record.petId) ?? []
        openOrders.set(record.petId, [...lines, batch.lines[at] as number])
      }
    }
    await onBatch?.(batch)
    bytesRead += batch.bytes
    checked += batch.records.length
    progress.show(checked, 'lines', bytesRead / input.bytes)
  }
  progress.end()
  const ordersWithoutPet = new Map([...openOrders].filter(([petId]) => !petIds.has(petId)))
  return { digest: hash.digest('hex'), highestIds, ordersWithoutPet }
}
