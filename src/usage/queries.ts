import { sql } from 'kysely'
import type { Db, Trx } from '../database/db.ts'
import { insertMany } from '../database/preparedQuery.ts'
import { buckets, toBuckets, type UsageBucket, type UsageRow } from './usage.ts'

const pruneRowsMax = 1_000

/** Adds to the counts. The rows must be in the same order on all instances, so that they do not deadlock. */
export async function addUsage(trx: Trx, rows: readonly UsageRow[]): Promise<void> {
  await addCounts(
    trx,
    rows.map(({ key_id, bucket_ms, starts_at, name, count }) => [key_id, bucket_ms, starts_at, name, count]),
  )
}

const addCounts = insertMany(
  'usage_counts',
  ['key_id', 'bucket_ms', 'starts_at', 'name', 'count'],
  (insert) =>
    insert.onConflict((conflict) =>
      conflict
        .columns(['key_id', 'bucket_ms', 'starts_at', 'name'])
        .doUpdateSet({ count: sql`usage_counts.count + excluded.count` }),
    ),
)

type Usage = Record<keyof typeof buckets, UsageBucket[]>

/** The figures of a key, or of all requests with `totalsKeyId`, oldest first. */
export async function findUsage(db: Db, keyId: number, now: number): Promise<Usage> {
  const find = async ({ lengthMs, retentionMs }: { lengthMs: number; retentionMs: number }) =>
    toBuckets(
      await db
        .selectFrom('usage_counts')
        .select(['starts_at', 'name', 'count'])
        .where('key_id', '=', keyId)
        .where('bucket_ms', '=', lengthMs)
        .where('starts_at', '>', now - retentionMs)
        .orderBy('starts_at')
        .orderBy('name')
        .execute(),
    )
  return { minutes: await find(buckets.minutes), hours: await find(buckets.hours) }
}

/** Deletes a bounded number of counts past their retention. Returns how many. */
export async function pruneUsage(trx: Trx, now: number): Promise<number> {
  let deleted = 0
  for (const { lengthMs, retentionMs } of Object.values(buckets)) {
    const { numAffectedRows = 0n } = await sql`
      DELETE FROM usage_counts WHERE (key_id, bucket_ms, starts_at, name) IN (
        SELECT key_id, bucket_ms, starts_at, name FROM usage_counts
        WHERE bucket_ms = ${lengthMs} AND starts_at <= ${now - retentionMs}
        ORDER BY starts_at LIMIT ${pruneRowsMax})`.execute(trx)
    deleted += Number(numAffectedRows)
  }
  return deleted
}
