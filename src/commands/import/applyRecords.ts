import { findCategory, reserveCategoryIds, updateCategory } from '../../categories/queries.ts'
import type { Db, Trx } from '../../database/db.ts'
import { continueFeed, recordEvent } from '../../events/queries.ts'
import { applyKey, type KeyOutcome } from './applyKey.ts'
import { applyOrder } from './applyOrder.ts'
import { applyPets, petsPerStatement } from './applyPets.ts'
import { addChangeCounts, type ImportChanges, noChanges, type RecordChange } from './changes.ts'
import {
  type CategoryRecord,
  type ExportRecord,
  type HeaderRecord,
  isPetRecord,
  type PetRecord,
} from './records.ts'

/** Other writers wait while the records of one transaction are applied. */
export const transactionMaxMs = 100

/** Applies the records that fit into one transaction, with the events of their changes. Returns how many these are. */
export async function applyRecords(
  trx: Trx,
  records: readonly ExportRecord[],
  now: number,
): Promise<{ applied: number; changes: ImportChanges; keys: KeyOutcome[] }> {
  const deadline = performance.now() + transactionMaxMs
  const keys: KeyOutcome[] = []
  const changes = noChanges()
  let applied = 0
  while (applied < records.length && (applied === 0 || performance.now() < deadline)) {
    const pets = leadingPets(records, applied)
    const record = records[applied] as OtherRecord
    if (pets.length > 0) addChangeCounts(changes.pets, await applyPets(trx, pets, now))
    else if (record.type === 'key') {
      const outcome = await applyKey(trx, record, now)
      changes.keys[outcome.change]++
      keys.push(outcome)
    } else if (record.type === 'order') changes.orders[await applyOrder(trx, record, now)]++
    else if (record.type === 'category') changes.categories[await applyCategory(trx, record, now)]++
    else await applyHeader(trx, record)
    applied += Math.max(1, pets.length)
  }
  return { applied, changes, keys }
}

/** The pets from an index up to the next record of another type. */
function leadingPets(records: readonly ExportRecord[], from: number): PetRecord[] {
  const next = records.slice(from, from + petsPerStatement)
  const end = next.findIndex((record) => !isPetRecord(record))
  return next.slice(0, end === -1 ? next.length : end) as PetRecord[]
}

type OtherRecord = Exclude<ExportRecord, PetRecord>

async function applyHeader(trx: Trx, header: HeaderRecord): Promise<void> {
  await trx.dialect.reserveIds(trx, 'pets', header.lastPetId ?? 0)
  await trx.dialect.reserveIds(trx, 'api_keys', header.lastKeyId ?? 0)
  await reserveCategoryIds(trx, header.lastCategoryId ?? 0)
  await trx.dialect.reserveIds(trx, 'orders', header.lastOrderId ?? 0)
  await continueFeed(trx, header.lastEventId ?? 0)
}

/** What an import of this category would do. */
export async function findCategoryChange(db: Db, { id, name }: CategoryRecord): Promise<RecordChange> {
  const existing = await findCategory(db, id)
  if (!existing) return 'added'
  return (existing.name ?? null) === name ? 'unchanged' : 'changed'
}

async function applyCategory(trx: Trx, record: CategoryRecord, now: number): Promise<RecordChange> {
  const { id, name } = record
  const change = await findCategoryChange(trx, record)
  if (change === 'added') {
    await trx.insertInto('categories').values({ category_id: id, name }).execute()
    await recordEvent(trx, now, 'category.created', { id, name: name ?? undefined })
  } else if (change === 'changed') await updateCategory(trx, { id, name: name ?? undefined }, now)
  return change
}
