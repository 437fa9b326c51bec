import type { Clock } from '../clock.ts'
import { deleteCursors, listCursors, lowerCursors, writeCursor } from '../database/cursors.ts'
import type { Database } from '../database/database.ts'
import type { Db, Trx } from '../database/db.ts'
import type { Delivery } from './deliveries.ts'
import { deleteWebhookStart } from './start.ts'

/**
 * A webhook that is disabled, deleted or loses event types has pending deliveries that are not to be sent, perhaps
 * millions. The change records a cutoff: the id up to which they fail. From then on none of them is attempted, and batches
 * of a bounded number of rows set their status, the newest first: see docs/decisions/0035-bounded-webhook-work.md.
 */
export type DeliveryCutoff = {
  /** An event type, or `anyType`, or `deletion`. */
  readonly eventType: string
  /** The id of the newest delivery that fails. */
  readonly through: number
}

/** The rows that one transaction reads and changes. */
export const deliveriesPerBatchMax = 1_000

/** Used instead of an event type: deliveries of every type fail. */
const anyType = 'all'
/** Used instead of an event type: deliveries of every type are deleted, then the webhook. */
const deletion = 'deleted'

const namePrefix = 'webhooks.cutoff.'
const prefixOf = (webhookId: number): string => `${namePrefix}${webhookId}.`

/** The cutoffs of a webhook that are not fully applied yet. */
export async function findCutoffs(db: Db, webhookId: number): Promise<DeliveryCutoff[]> {
  const prefix = prefixOf(webhookId)
  const cursors = await listCursors(db, prefix)
  return cursors.map(({ name, value }) => ({ eventType: name.slice(prefix.length), through: value }))
}

/** Why a pending delivery will not be attempted. Undefined if it will be. */
export function cutoffReason(cutoffs: readonly DeliveryCutoff[], delivery: Delivery): string | undefined {
  const cutoff = cutoffs.find(
    (one) => delivery.id <= one.through && (isForAllTypes(one) || one.eventType === delivery.event_type),
  )
  return cutoff && reasonOf(cutoff)
}

const isForAllTypes = ({ eventType }: DeliveryCutoff) => eventType === anyType || eventType === deletion

const reasonOf = (cutoff: DeliveryCutoff): string =>
  isForAllTypes(cutoff) ? 'The webhook was disabled.' : 'The webhook was changed.'

/** The delivery as it is after the cutoffs are applied. */
export function asFailedByCutoff(cutoffs: readonly DeliveryCutoff[], delivery: Delivery): Delivery {
  const reason = delivery.next_attempt_at === null ? undefined : cutoffReason(cutoffs, delivery)
  return reason === undefined ? delivery : { ...delivery, ...failedFields(reason, delivery.finished_at) }
}

export const failedFields = (reason: string, now: number | null) => ({
  status: 'failed',
  next_attempt_at: null,
  finished_at: now,
  last_error: reason,
})

/**
 * The pending deliveries of these event types fail, of all types by default. The webhook is locked, and so is the
 * dispatch, which could create more of them. The first batch is part of the transaction of the change.
 */
export async function failPendingDeliveries(
  trx: Trx,
  webhookId: number,
  now: number,
  eventTypes: readonly string[] = [anyType],
): Promise<void> {
  const newest = await deliveriesThrough(trx, webhookId, Number.MAX_SAFE_INTEGER).executeTakeFirst()
  for (const eventType of eventTypes)
    await writeCursor(trx, `${prefixOf(webhookId)}${eventType}`, newest?.id ?? 0)
  await applyCutoffBatch(trx, webhookId, now)
}

/**
 * The same for the deletion of a webhook: its deliveries are deleted, then its row. The cutoff says so, not the status of
 * the webhook, which an instance of version 1.0.0 can change. The dispatch need not be locked: deliveries that it still
 * creates are not sent, and are deleted with the row.
 */
export const deleteWebhookAndDeliveries = (trx: Trx, webhookId: number, now: number): Promise<void> =>
  failPendingDeliveries(trx, webhookId, now, [deletion])

/** The newest deliveries of a webhook up to this id. */
const deliveriesThrough = (db: Db, webhookId: number, through: number) =>
  db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where(db.dialect.keysetRange('webhook_id', webhookId, 0, through))
    .orderBy('webhook_id', 'desc')
    .orderBy('id', 'desc')
    .limit(1)

/** Returns whether there is more to do. */
async function applyCutoffBatch(trx: Trx, webhookId: number, now: number): Promise<boolean> {
  // Before its cutoffs are read: other instances apply them too, and a change may add some.
  await trx.selectFrom('webhooks').select('id').where('id', '=', webhookId).forUpdate().execute()
  const cutoffs = await findCutoffs(trx, webhookId)
  if (cutoffs.length === 0) return false
  const isDeleted = cutoffs.some(({ eventType }) => eventType === deletion)
  const through = Math.max(...cutoffs.map((cutoff) => cutoff.through))
  const oldest = await deliveriesThrough(trx, webhookId, through)
    .offset(deliveriesPerBatchMax - 1)
    .executeTakeFirst()
  const from = oldest?.id ?? 0
  const isInBatch = (to: number) => trx.dialect.keysetRange('webhook_id', webhookId, from, to)
  if (isDeleted) await trx.deleteFrom('webhook_deliveries').where(isInBatch(through)).execute()
  else
    for (const cutoff of cutoffs)
      await trx
        .updateTable('webhook_deliveries')
        .set(failedFields(reasonOf(cutoff), now))
        .where(isInBatch(cutoff.through))
        .where('next_attempt_at', 'is not', null)
        .$if(!isForAllTypes(cutoff), (query) => query.where('event_type', '=', cutoff.eventType))
        .execute()
  if (oldest) {
    await lowerCursors(trx, prefixOf(webhookId), from - 1)
    return true
  }
  await deleteCursors(trx, prefixOf(webhookId))
  if (isDeleted) {
    await deleteWebhookStart(trx, webhookId)
    // With the deliveries that it still has.
    await trx.deleteFrom('webhooks').where('id', '=', webhookId).execute()
  }
  return false
}

/**
 * Applies all cutoffs until they are complete or the service stops. If that fails for a webhook, it continues with the
 * others.
 */
export async function applyCutoffs(
  { read, writeUnlogged }: Database,
  clock: Clock,
  signal: AbortSignal,
  onFault: (error: unknown) => void,
): Promise<void> {
  const cursors = await listCursors(read, namePrefix)
  const webhookIds = new Set(cursors.map(({ name }) => Number(name.slice(namePrefix.length).split('.')[0])))
  for (const webhookId of webhookIds) {
    try {
      while (!signal.aborted && (await writeUnlogged((trx) => applyCutoffBatch(trx, webhookId, clock())))) {
        // There are more.
      }
    } catch (error) {
      onFault(error)
    }
  }
}
