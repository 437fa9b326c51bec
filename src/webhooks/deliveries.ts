import type { Selectable } from 'kysely'
import type { DatabaseReader } from '../database/database.ts'
import type { Db, Tables } from '../database/tables.ts'
import { eventRetentionMs } from '../events/queries.ts'
import { type Delivery, testEventType } from './webhook.ts'

const pruneRowsMax = 1_000

type NewDelivery = Pick<Delivery, 'webhookId' | 'eventId' | 'eventType' | 'eventAt' | 'data'>

/** Queues messages for their first attempt. */
export async function insertDeliveries(trx: Db, deliveries: readonly NewDelivery[], now: number) {
  const rows = deliveries.map((delivery) => toRow(delivery, now))
  await trx.insertInto('webhook_deliveries').values(rows).execute()
}

export async function createTestDelivery(trx: Db, webhookId: number, now: number): Promise<Delivery> {
  const data = '{"message":"This is a test."}'
  const test = { webhookId, eventId: undefined, eventType: testEventType, eventAt: now, data }
  const inserts = trx.insertInto('webhook_deliveries').values(toRow(test, now))
  return toDelivery(await inserts.returningAll().executeTakeFirstOrThrow())
}

const toRow = ({ webhookId, eventId, eventType, eventAt, data }: NewDelivery, now: number) => ({
  webhook_id: webhookId,
  event_id: eventId ?? null,
  event_type: eventType,
  event_at: eventAt,
  data,
  status: 'pending',
  attempts: 0,
  next_attempt_at: now,
  claimed_until: 0,
  created_at: now,
})

export async function findDelivery(db: Db, webhookId: number, id: number): Promise<Delivery | undefined> {
  const row = await db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('id', '=', id)
    .where('webhook_id', '=', webhookId)
    .executeTakeFirst()
  return row && toDelivery(row)
}

/** One page of the deliveries of a webhook, newest first. */
export async function listDeliveries(
  { read, dialect }: DatabaseReader,
  webhookId: number,
  limit: number,
  belowId = Number.MAX_SAFE_INTEGER,
): Promise<Delivery[]> {
  const deliveries = read.selectFrom('webhook_deliveries').selectAll()
  const rows = await dialect
    .keysetPage(deliveries, [['webhook_id', webhookId]], belowId)
    .limit(limit)
    .execute()
  return rows.map(toDelivery)
}

/** Makes a delivery due now. */
export async function retryDelivery(trx: Db, id: number, now: number): Promise<void> {
  await trx
    .updateTable('webhook_deliveries')
    .set(({ eb }) => ({
      // The retry schedule starts over: retries by hand must not use it up.
      attempts: eb.case().when('attempts', '>', 1).then(1).else(eb.ref('attempts')).end(),
      status: 'pending',
      next_attempt_at: now,
      claimed_until: 0,
      finished_at: null,
    }))
    .where('id', '=', id)
    .execute()
}

/** Fails all pending deliveries of a webhook, except those of the event types to keep. */
export async function failPendingDeliveries(
  trx: Db,
  webhookId: number,
  reason: string,
  now: number,
  eventTypesToKeep: readonly string[] = [],
): Promise<void> {
  let query = trx
    .updateTable('webhook_deliveries')
    .set({ status: 'failed', next_attempt_at: null, finished_at: now, last_error: reason })
    .where('webhook_id', '=', webhookId)
    .where('next_attempt_at', 'is not', null)
  if (eventTypesToKeep.length > 0) query = query.where('event_type', 'not in', eventTypesToKeep)
  await query.execute()
}

/** Deletes a bounded number of deliveries past the retention of events, pending ones included. Returns how many. */
export async function pruneDeliveries(trx: Db, now: number): Promise<number> {
  const oldest = await trx
    .selectFrom('webhook_deliveries')
    .select(['id', 'created_at'])
    .orderBy('id')
    .limit(pruneRowsMax)
    .execute()
  const expired = oldest.filter((row) => row.created_at <= now - eventRetentionMs).map(({ id }) => id)
  if (expired.length > 0) await trx.deleteFrom('webhook_deliveries').where('id', 'in', expired).execute()
  return expired.length
}

export const toDelivery = (row: Selectable<Tables['webhook_deliveries']>): Delivery => ({
  id: row.id,
  webhookId: row.webhook_id,
  eventId: row.event_id ?? undefined,
  eventType: row.event_type,
  eventAt: row.event_at,
  data: row.data,
  status: row.status as Delivery['status'],
  attempts: row.attempts,
  nextAttemptAt: row.next_attempt_at ?? undefined,
  lastStatus: row.last_status ?? undefined,
  lastError: row.last_error ?? undefined,
  createdAt: row.created_at,
  finishedAt: row.finished_at ?? undefined,
})
