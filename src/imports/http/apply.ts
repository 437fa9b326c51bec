import type { Trx } from '../../database/db.ts'
import { petOrders } from '../../orders/queries.ts'
import { ConflictError } from '../../records/resource.ts'
import { applyAnimals, toAnimalRecord } from '../applyAnimals.ts'
import { addCategories, matchCategories } from '../categories.ts'
import { unlistMissing } from '../missing.ts'
import { type ImportCounts, type ImportJob, noImportCounts, type StoredAnimal, withProblem } from './job.ts'
import {
  addBatches,
  deleteBatch,
  eraseResponses,
  findImportForUpdate,
  firstBatch,
  type PlacedBatch,
  type StoredImport,
  saveImport,
} from './queries.ts'

/** An instance that applies imports. Another one continues if it was silent for `claimMs`. */
export type Worker = { readonly name: string; readonly claimMs: number }

/** From now on, instances apply the import, which is locked. The file cannot be previewed any more. */
export async function startImport(trx: Trx, stored: StoredImport, actor: string, now: number): Promise<void> {
  const { id, job } = stored
  await eraseResponses(trx, id)
  // The database must not assign an id that a later line has.
  if (job.highestId > 0) await trx.dialect.reserveIds(trx, 'pets', job.highestId)
  await saveImport(trx, id, 'applying', { ...job, actor, animals: [] }, now)
}

/** Applies the next batch of an import, in the transaction that deletes it. Returns false if there is nothing to do. */
export async function applyNextBatch(trx: Trx, id: string, worker: Worker, now: number): Promise<boolean> {
  const job = await claim(trx, id, worker, now)
  if (!job) return false
  const placed = await firstBatch(trx, id)
  if (!placed) {
    await saveImport(trx, id, 'applied', job, now)
    return false
  }
  trx.actor = job.actor
  const { batch } = placed
  if ('missing' in batch) {
    const unlisted = await unlistMissing(trx, batch.missing, now)
    await saveImport(trx, id, 'applying', advanced(job, batch.missing.length, { unlisted }), now)
  } else await saveImport(trx, id, 'applying', await applyAll(trx, job, batch.animals, now), now)
  await deleteBatch(trx, id, placed)
  return true
}

/** The import, locked, if it is to be applied by this instance. */
async function claim(trx: Trx, id: string, { name, claimMs }: Worker, now: number) {
  const stored = await findImportForUpdate(trx, id, now)
  if (stored?.state !== 'applying') return undefined
  const { worker } = stored.job
  const isOfOther = worker !== null && worker !== name
  if (isOfOther && stored.updatedAt > now - claimMs) return undefined
  return { ...stored.job, worker: name }
}

const advanced = (job: ImportJob, count: number, counts: Partial<ImportCounts>): ImportJob => {
  const result = { ...job.result }
  for (const [name, added] of Object.entries(counts)) result[name as keyof ImportCounts] += added
  return { ...job, done: job.done + count, result }
}

async function applyAll(
  trx: Trx,
  job: ImportJob,
  animals: readonly StoredAnimal[],
  now: number,
): Promise<ImportJob> {
  const names = [...new Set(animals.map(({ animal: { category = '' } }) => category))]
  const categoryIds = job.createCategories
    ? await addCategories(trx, names, now)
    : (await matchCategories(trx, names)).ids
  const isKnown = ({ animal: { category = '' } }: StoredAnimal) => categoryIds.has(category)
  const known = animals.filter(isKnown)
  const records = known.map(({ animal }) => toAnimalRecord(animal, categoryIds))
  const counts = noImportCounts()
  for (const change of await applyAnimals(trx, records, now, petOrders)) counts[change]++
  const problems = [
    ...animals.flatMap((each) =>
      isKnown(each) ? [] : { line: each.line, reason: 'its category was removed' },
    ),
    ...records.flatMap(({ problem: reason }, at) =>
      reason === undefined ? [] : { line: known[at]?.line as number, reason },
    ),
  ]
  return problems.reduce(withProblem, advanced(job, animals.length, counts))
}

/**
 * After a batch has failed: splits it into batches of one animal. If it has one animal only, leaves it out. Returns false if
 * there is nothing to do.
 */
export async function splitOrSkipBatch(
  trx: Trx,
  id: string,
  worker: Worker,
  error: unknown,
  now: number,
): Promise<boolean> {
  const job = await claim(trx, id, worker, now)
  const placed = job && (await firstBatch(trx, id))
  if (!placed) return false
  await deleteBatch(trx, id, placed)
  const single = singleBatches(placed)
  if (single.length > 1) await addBatches(trx, id, single)
  await saveImport(trx, id, 'applying', single.length > 1 ? job : skipped(job, placed, error), now)
  return true
}

/** The positions between a batch and the next one are free. */
function singleBatches({ position, batch }: PlacedBatch): PlacedBatch[] {
  if ('missing' in batch)
    return batch.missing.map((id, at) => ({ position: position + at, batch: { missing: [id] } }))
  return batch.animals.map((each) => ({ position: each.line, batch: { animals: [each] } }))
}

/** The only animal of a batch is left out. One that cannot be unlisted has no line: the results differ from the expected. */
function skipped(job: ImportJob, { batch }: PlacedBatch, error: unknown): ImportJob {
  const next = advanced(job, 1, {})
  const animal = 'animals' in batch ? batch.animals[0] : undefined
  const reason = error instanceof ConflictError ? error.message : 'cannot be stored'
  return animal ? withProblem(next, { line: animal.line, reason }) : next
}
