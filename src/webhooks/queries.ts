import type { Selectable, Updateable } from 'kysely'
import type { Db, Trx } from '../database/db.ts'
import { firstOf } from '../database/preparedQuery.ts'
import type { Tables } from '../database/tables.ts'
import type { EventType } from '../events/event.ts'
import { deletedStatus, generateWebhookSecret } from './webhook.ts'

/** A row, with the list of its event types. */
export type Webhook = ReturnType<typeof toWebhook>

export const toWebhook = (row: Selectable<Tables['webhooks']>) => ({
  ...row,
  events: JSON.parse(row.events) as EventType[],
})

/** All webhooks except those whose deliveries are still being deleted. */
const existing = (db: Db) => db.selectFrom('webhooks').where('status', '<>', deletedStatus)

export async function countWebhooks(db: Db): Promise<number> {
  const { count } = await existing(db)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The webhook receives the events after `fromEventId`. */
export async function createWebhook(
  trx: Trx,
  { url, events }: { url: string; events: readonly EventType[] },
  fromEventId: number,
  now: number,
): Promise<Webhook> {
  const row = await trx
    .insertInto('webhooks')
    .values({
      url,
      events: JSON.stringify(events),
      status: 'enabled',
      secret: generateWebhookSecret(),
      from_event_id: fromEventId,
      created_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toWebhook(row)
}

export const findWebhook = (db: Db, id: number) =>
  firstOf(existing(db).selectAll().where('id', '=', id), toWebhook)

/** Locks the webhook until the end of the transaction. */
export const findWebhookForUpdate = (trx: Trx, id: number) =>
  firstOf(existing(trx).selectAll().where('id', '=', id).forUpdate(), toWebhook)

/** One page of webhooks, newest first. */
export async function listWebhooks(db: Db, limit: number, belowId = Number.MAX_SAFE_INTEGER) {
  const webhooks = existing(db).selectAll().where('id', '<', belowId)
  return (await webhooks.orderBy('id', 'desc').limit(limit).execute()).map(toWebhook)
}

export async function updateWebhook(trx: Trx, id: number, change: Updateable<Tables['webhooks']>) {
  const updates = trx.updateTable('webhooks').set(change).where('id', '=', id)
  return toWebhook(await updates.returningAll().executeTakeFirstOrThrow())
}

/** The webhook does not exist any more, except that its deliveries refer to its row. */
export const markWebhookDeleted = (trx: Trx, id: number): Promise<Webhook> =>
  updateWebhook(trx, id, {
    ...{ status: deletedStatus, status_reason: null, url: '', events: '[]' },
    ...{ secret: '', previous_secret: null, previous_secret_until: null },
  })

/** Until the overlap ends, messages are signed with the new secret and the previous one. Older ones expire now. */
export const rotateWebhookSecret = (trx: Trx, { id, secret }: Webhook, overlapEndsAt: number) =>
  updateWebhook(trx, id, {
    secret: generateWebhookSecret(),
    previous_secret: secret,
    previous_secret_until: overlapEndsAt,
  })
