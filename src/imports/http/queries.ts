import { randomBytes } from 'node:crypto'
import { eraseFromIdempotencyRecords } from '../../api/idempotency.ts'
import { parseJson, toJson } from '../../api/json.ts'
import type { Db, Trx } from '../../database/db.ts'
import { firstOf } from '../../database/preparedQuery.ts'
import {
  type ImportBatch,
  type ImportJob,
  type ImportState,
  importIdPattern,
  importRetentionMs,
} from './job.ts'

/** A check takes less time. If it has not ended by then, its process has. */
const checkMaxMs = 15 * 60 * 1000
const listedMax = 20
const erasedBatchesMax = 50

export type StoredImport = {
  readonly id: string
  readonly state: ImportState
  readonly createdAt: number
  readonly updatedAt: number
  readonly expiresAt: number
  readonly job: ImportJob
}

const importsOf = (db: Db) => db.selectFrom('import_jobs').selectAll()
type Row = Awaited<ReturnType<ReturnType<typeof importsOf>['execute']>>[number]

const toImport = (row: Row): StoredImport => ({
  id: row.id,
  state: row.state as ImportState,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  expiresAt: row.expires_at,
  job: JSON.parse(row.data),
})

const importId = new RegExp(importIdPattern)
/** PostgreSQL rejects other text if it contains a NUL. */
const isImportId = (id: string): boolean => importId.test(id)

/** An import that is applied does not expire, however long that takes. */
const visible = (db: Db, now: number) =>
  importsOf(db)
    .where('state', '!=', 'checking')
    .where(({ eb, or }) => or([eb('state', '=', 'applying'), eb('expires_at', '>', now)]))

export const findImport = async (db: Db, id: string, now: number) =>
  isImportId(id) ? firstOf(visible(db, now).where('id', '=', id), toImport) : undefined

/** Locks the import until the end of the transaction. */
export const findImportForUpdate = async (trx: Trx, id: string, now: number) =>
  isImportId(id) ? firstOf(visible(trx, now).where('id', '=', id).forUpdate(), toImport) : undefined

/** The newest imports that still exist. */
export async function listImports(db: Db, now: number): Promise<StoredImport[]> {
  const rows = await visible(db, now).orderBy('created_at', 'desc').limit(listedMax).execute()
  return rows.map(toImport)
}

/** An import that must be applied or deleted before another one. */
export const findUnfinished = (db: Db, now: number) =>
  firstOf(visible(db, now).where('state', '!=', 'applied').limit(1), toImport)

export const findApplying = (db: Db) =>
  firstOf(importsOf(db).where('state', '=', 'applying').limit(1), toImport)

/** Begins an import whose file is being checked. Returns its id. */
export async function beginImport(trx: Trx, now: number): Promise<string> {
  const id = randomBytes(16).toString('base64url')
  const times = { created_at: now, updated_at: now, expires_at: now + checkMaxMs }
  await trx
    .insertInto('import_jobs')
    .values({ id, state: 'checking', ...times, data: '{}' })
    .execute()
  return id
}

/** Its place is that of its first line. */
export type PlacedBatch = { readonly position: number; readonly batch: ImportBatch }

export async function addBatches(trx: Trx, id: string, batches: readonly PlacedBatch[]): Promise<void> {
  for (const { position, batch } of batches)
    await trx.send(
      trx.insertInto('import_batches').values({ import_id: id, position, data: JSON.stringify(batch) }),
    )
}

export async function firstBatch(trx: Trx, id: string): Promise<PlacedBatch | undefined> {
  const row = await trx
    .selectFrom('import_batches')
    .select(['position', 'data'])
    .where('import_id', '=', id)
    .orderBy('position')
    .limit(1)
    .executeTakeFirst()
  return row && { position: row.position, batch: JSON.parse(row.data) }
}

export const deleteBatch = (trx: Trx, id: string, { position }: PlacedBatch): Promise<void> =>
  trx.send(trx.deleteFrom('import_batches').where('import_id', '=', id).where('position', '=', position))

export async function saveImport(
  trx: Trx,
  id: string,
  state: ImportState,
  job: ImportJob,
  now: number,
): Promise<void> {
  const times = { updated_at: now, expires_at: now + importRetentionMs }
  await trx.send(
    trx
      .updateTable('import_jobs')
      .set({ state, ...times, data: JSON.stringify(job) })
      .where('id', '=', id),
  )
}

/** Identifies the responses about an import. */
export const subjectOf = (id: string): string => `import ${id}`

/** Removes what responses that are kept for retries say about the lines of the file. */
export const eraseResponses = (trx: Trx, id: string): Promise<void> =>
  eraseFromIdempotencyRecords(trx, subjectOf(id), (json) =>
    toJson({ ...(parseJson(json) as object), wrongLines: [], animals: [] }),
  )

/** Erases an import. What it has applied stays. `eraseSome` deletes its batches. */
export async function eraseImport(trx: Trx, id: string): Promise<void> {
  await eraseResponses(trx, id)
  await trx.send(trx.deleteFrom('import_jobs').where('id', '=', id))
}

const expired = (db: Db, now: number) =>
  db
    .selectFrom('import_jobs')
    .select('id')
    .where('state', '!=', 'applying')
    .where('expires_at', '<=', now)
    .limit(listedMax)

const orphans = (db: Db) =>
  db
    .selectFrom('import_batches')
    .select(['import_id', 'position'])
    .where('import_id', 'not in', db.selectFrom('import_jobs').select('id'))
    .limit(erasedBatchesMax)

export const hasErasable = async (db: Db, now: number): Promise<boolean> =>
  (await expired(db, now).executeTakeFirst()) !== undefined ||
  (await orphans(db).executeTakeFirst()) !== undefined

/** Erases a bounded number of expired imports, and of batches of erased imports. Returns how many. */
export async function eraseSome(trx: Trx, now: number): Promise<number> {
  const imports = await expired(trx, now).forUpdate().execute()
  for (const { id } of imports) await eraseImport(trx, id)
  const { numDeletedRows } = await trx
    .deleteFrom('import_batches')
    .where((eb) =>
      eb(eb.refTuple('import_id', 'position'), 'in', orphans(trx).$asTuple('import_id', 'position')),
    )
    .executeTakeFirst()
  return imports.length + Number(numDeletedRows)
}
