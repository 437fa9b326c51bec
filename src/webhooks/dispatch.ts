import { sql } from 'kysely'
import { lockCursor, readCursor, writeCursor } from '../database/cursors.ts'
import type { Db, Trx } from '../database/db.ts'
import { preparedQuery } from '../database/preparedQuery.ts'
import { eventsAfter, lastEventId } from '../events/queries.ts'
import { insertDeliveries } from './deliveries.ts'
import { toWebhook, type Webhook } from './queries.ts'
import { eventsBeforeWebhookStarts } from './start.ts'
import { activeStatuses } from './webhook.ts'

const dispatchCursor = 'webhooks.dispatched'
/** Per transaction. At least the maximum number of webhooks, so that one event always fits. */
const deliveriesPerWriteMax = 1_000

/** A change of the events of a webhook waits for a running dispatch, which may still create deliveries of the old ones. */
export const lockDispatch = (trx: Trx): Promise<number> => lockCursor(trx, dispatchCursor)

/** Creates the deliveries of events up to the id `through`, a bounded number per call. */
export async function dispatchEvents(trx: Trx, now: number, through: number): Promise<void> {
  // Before anything is read: another instance may dispatch the same events.
  const dispatched = await lockDispatch(trx)
  const rows = await trx.selectFrom('webhooks').selectAll().where('status', 'in', activeStatuses).execute()
  const webhooks = rows.map(toWebhook)
  const limit = Math.max(1, Math.floor(deliveriesPerWriteMax / Math.max(1, webhooks.length)))
  const after = await dispatchedThrough(trx)
  const events = await eventsAfter(trx, after, limit, true, through)
  const starts = await eventsBeforeWebhookStarts(trx, after, events.at(-1)?.id ?? after)
  const isStarted = (webhook: Webhook, eventId: number) =>
    eventId > webhook.from_event_id && !starts.get(webhook.id)?.idsBefore.has(eventId)
  const deliveries = events.flatMap(({ id, type, createdAt, data }) =>
    webhooks
      .filter((webhook) => webhook.events.includes(type) && isStarted(webhook, id))
      .map((webhook) => ({
        webhook_id: webhook.id,
        event_id: id,
        event_type: type,
        event_at: createdAt,
        data,
      })),
  )
  if (deliveries.length > 0) await insertDeliveries(trx, deliveries, now)
  // Without events the rest has been pruned before it was dispatched.
  const last = events.at(-1)?.id ?? (await lastEventId(trx, through))
  // The cursor must not decrease: another instance may have dispatched later events.
  if (last > dispatched) await writeCursor(trx, dispatchCursor, last)
}

const selectActiveWebhook = preparedQuery<[], { id: number }>((db) =>
  db
    .selectFrom('webhooks')
    .select('id')
    .where(
      'status',
      'in',
      activeStatuses.map((status) => sql.lit(status)),
    )
    .limit(sql.lit(1)),
)

/** Without an active webhook, nothing is to be dispatched and nothing is due. */
export const hasActiveWebhooks = async (db: Db): Promise<boolean> =>
  (await selectActiveWebhook(db)).length > 0

export async function hasUndispatchedEvents(db: Db, through: number): Promise<boolean> {
  return (await lastEventId(db, through)) > (await dispatchedThrough(db))
}

/** Events older than every active webhook are skipped. Without one, all events are. */
async function dispatchedThrough(db: Db): Promise<number> {
  const { first } = await db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.min('from_event_id').as('first'))
    .where('status', 'in', activeStatuses)
    .executeTakeFirstOrThrow()
  return Math.max(await readCursor(db, dispatchCursor), first ?? Number.MAX_SAFE_INTEGER)
}
