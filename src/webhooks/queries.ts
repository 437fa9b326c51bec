import type { Selectable, Updateable } from 'kysely'
import type { Db, Tables } from '../database/tables.ts'
import type { EventType } from '../events/event.ts'
import { generateWebhookSecret, type Webhook, type WebhookStatus } from './webhook.ts'

type WebhookSettings = Pick<Webhook, 'url' | 'events'>

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
  { url, events }: WebhookSettings,
  fromEventId: number,
  now: number,
) {
  const secret = generateWebhookSecret()
  const row = await trx
    .insertInto('webhooks')
    .values({
      url,
      events: JSON.stringify(events),
      status: 'enabled',
      secret,
      from_event_id: fromEventId,
      created_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return { webhook: toWebhook(row), secret }
}

export async function findWebhook(db: Db, id: number): Promise<Webhook | undefined> {
  const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
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
): Promise<void> {
  await trx.updateTable('webhooks').set(change).where('id', '=', id).execute()
}

export const setWebhookStatus = (trx: Db, id: number, status: WebhookStatus, reason?: string) =>
  updateWebhook(trx, id, { status, status_reason: reason ?? null })

export async function deleteWebhook(trx: Db, id: number): Promise<void> {
  await trx.deleteFrom('webhooks').where('id', '=', id).execute()
}

/** Until the overlap ends, messages are signed with the new secret and the previous one. Older ones expire now. */
export async function rotateWebhookSecret(
  trx: Db,
  id: number,
  overlapMs: number,
  now: number,
): Promise<string> {
  const secret = generateWebhookSecret()
  const rotation = trx
    .updateTable('webhooks')
    .set((eb) => ({ previous_secret: eb.ref('secret'), previous_secret_until: now + overlapMs, secret }))
  await rotation.where('id', '=', id).execute()
  return secret
}

export const toWebhook = (row: Selectable<Tables['webhooks']>): Webhook => ({
  id: row.id,
  url: row.url,
  events: JSON.parse(row.events) as EventType[],
  status: row.status as WebhookStatus,
  statusReason: row.status_reason ?? undefined,
  createdAt: row.created_at,
})
