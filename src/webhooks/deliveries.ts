import { type Selectable, sql } from 'kysely'
import type { Db, Trx } from '../database/db.ts'
import { insertMany } from '../database/preparedQuery.ts'
import type { Tables } from '../database/tables.ts'
import { eventRetentionMs } from '../events/queries.ts'
import { testEventType } from './webhook.ts'

export type Delivery = Selectable<Tables['webhook_deliveries']>

const pruneRowsMax = 1_000

type NewDelivery = Pick<Delivery, 'webhook_id' | 'event_id' | 'event_type' | 'event_at' | 'data'>

const newColumns = [
  ...(['webhook_id', 'event_id', 'event_type', 'event_at', 'data'] as const),
  ...(['status', 'attempts', 'next_attempt_at', 'claimed_until', 'created_at'] as const),
]
const insertRows = insertMany('webhook_deliveries', newColumns)

/** Queues messages for their first attempt. */
export async function insertDeliveries(trx: Trx, deliveries: readonly NewDelivery[], now: number) {
  const rows = deliveries.map((delivery) => toRow(delivery, now))
  await insertRows(
    trx,
    rows.map((row) => newColumns.map((column) => row[column])),
  )
}

export async function createTestDelivery(trx: Trx, webhookId: number, now: number): Promise<Delivery> {
  const data = '{"message":"This is a test."}'
  const test = { webhook_id: webhookId, event_id: null, event_type: testEventType, event_at: now, data }
  const inserts = trx.insertInto('webhook_deliveries').values(toRow(test, now))
  return inserts.returningAll().executeTakeFirstOrThrow()
}

const toRow = (delivery: NewDelivery, now: number) => ({
  ...delivery,
  status: 'pending',
  attempts: 0,
  next_attempt_at: now,
  claimed_until: 0,
  created_at: now,
})

export const findDelivery = (db: Db, webhookId: number, id: number): Promise<Delivery | undefined> =>
  db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('id', '=', id)
    .where('webhook_id', '=', webhookId)
    .executeTakeFirst()

/** One page of the deliveries of a webhook, newest first. */
export function listDeliveries(db: Db, webhookId: number, limit: number, belowId = Number.MAX_SAFE_INTEGER) {
  const deliveries = db.selectFrom('webhook_deliveries').selectAll()
  return db.dialect
    .keysetPage(deliveries, [['webhook_id', webhookId]], belowId)
    .limit(limit)
    .execute()
}

/** Makes a delivery due now. */
export const retryDelivery = (trx: Trx, id: number, now: number): Promise<Delivery | undefined> =>
  trx
    .updateTable('webhook_deliveries')
    .set(({ eb }) => ({
      // The retry schedule starts over: retries by hand must not use it up.
      attempts: eb.case().when('attempts', '>', 1).then(1).else(eb.ref('attempts')).end(),
      earlier_attempts: eb
        .case()
        .when('attempts', '>', 1)
        .then(sql<number>`earlier_attempts + attempts - 1`)
        .else(eb.ref('earlier_attempts'))
        .end(),
      status: 'pending',
      next_attempt_at: now,
      claimed_until: 0,
      finished_at: null,
    }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()

/** Deletes a bounded number of deliveries past the retention of events, pending ones included. Returns how many. */
export async function pruneDeliveries(trx: Trx, now: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM webhook_deliveries WHERE id IN (
      SELECT id FROM (SELECT id, created_at FROM webhook_deliveries ORDER BY id LIMIT ${pruneRowsMax}) AS oldest
      WHERE created_at <= ${now - eventRetentionMs})`.execute(trx)
  return Number(numAffectedRows)
}
