import type { Selectable, Updateable } from 'kysely'
import type { Db, Tables } from '../database/tables.ts'
import type { EventType } from '../events/event.ts'
import { generateWebhookSecret } from './webhook.ts'

/** A row, with the list of its event types. */
export type Webhook = ReturnType<typeof toWebhook>

export const toWebhook = (row: Selectable<Tables['webhooks']>) => ({
  ...row,
  events: JSON.parse(row.events) as EventType[],
})

export async function countWebhooks(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The webhook receives the events after `fromEventId`. */
export async function createWebhook(
  trx: Db,
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

export async function findWebhook(db: Db, id: number): Promise<Webhook | undefined> {
  const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toWebhook(row)
}

/** Locks the webhook until the end of the transaction. */
export async function findWebhookForUpdate(trx: Db, id: number): Promise<Webhook | undefined> {
  const row = await trx.selectFrom('webhooks').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
  return row && toWebhook(row)
}

/** One page of webhooks, newest first. */
export async function listWebhooks(db: Db, limit: number, belowId = Number.MAX_SAFE_INTEGER) {
  const webhooks = db.selectFrom('webhooks').selectAll().where('id', '<', belowId)
  return (await webhooks.orderBy('id', 'desc').limit(limit).execute()).map(toWebhook)
}

export async function updateWebhook(
  trx: Db,
  id: number,
  change: Updateable<Tables['webhooks']>,
): Promise<Webhook> {
  const updates = trx.updateTable('webhooks').set(change).where('id', '=', id)
  return toWebhook(await updates.returningAll().executeTakeFirstOrThrow())
}

export async function deleteWebhook(trx: Db, id: number): Promise<void> {
  await trx.deleteFrom('webhooks').where('id', '=', id).execute()
}

/** Until the overlap ends, messages are signed with the new secret and the previous one. Older ones expire now. */
export const rotateWebhookSecret = (trx: Db, { id, secret }: Webhook, overlapEndsAt: number) =>
  updateWebhook(trx, id, {
    secret: generateWebhookSecret(),
    previous_secret: secret,
    previous_secret_until: overlapEndsAt,
  })
