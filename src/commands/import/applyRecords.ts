import type { Trx } from '../../database/db.ts'
import { addCounts, type ImportCounts, noCounts, type ResourceRecord } from '../../records/resource.ts'
import { kindOf, type RecordKind } from './records.ts'

/** Other writers wait while the records of one transaction are applied. */
export const transactionMaxMs = 100

export type KindCounts = Map<RecordKind, ImportCounts>

export function addKindCounts(total: KindCounts, kind: RecordKind, counts: ImportCounts): void {
  const sum = total.get(kind) ?? noCounts()
  addCounts(sum, counts)
  total.set(kind, sum)
}

/** Applies the records that fit into one transaction, with the events of their changes. Returns how many these are. */
export async function applyRecords(trx: Trx, records: readonly ResourceRecord[], now: number) {
  const deadline = performance.now() + transactionMaxMs
  const counts: KindCounts = new Map()
  const kindAt = (at: number) => kindOf(records[at]?.type) as RecordKind
  let applied = 0
  while (applied < records.length && (applied === 0 || performance.now() < deadline)) {
    const kind = kindAt(applied)
    const endMax = Math.min(applied + kind.batchMax, records.length)
    let end = applied + 1
    while (end < endMax && kindAt(end) === kind) end++
    addKindCounts(counts, kind.countsAs ?? kind, await kind.apply(trx, records.slice(applied, end), now))
    applied = end
  }
  return { applied, counts }
}
