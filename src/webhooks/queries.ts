import type { Selectable } from 'kysely'
import type { Db, Tables } from '../database/tables.ts'
import type { EventType } from '../events/event.ts'
import { generateSecret, type Webhook, type WebhookStatus } from './webhook.ts'

type WebhookSettings = { url: string; events: readonly EventType[] }

export async function countWebhooks(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The webhook receives the events after `fromEventId`. */
export async function createWebhook(trx: Db, settings: WebhookSettings, fromEventId: number, now: number) {
  const secret = generateSecret()
  const row = await trx
    .insertInto('webhooks')
    .values({
      ...toSettingsRow(settings),
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

export async function updateWebhook(trx: Db, id: number, settings: WebhookSettings): Promise<void> {
  await trx.updateTable('webhooks').set(toSettingsRow(settings)).where('id', '=', id).execute()
}

export async function setWebhookStatus(
  trx: Db,
  id: number,
  status: WebhookStatus,
  reason?: string,
): Promise<void> {
  const change = { status, status_reason: reason ?? null }
  await trx.updateTable('webhooks').set(change).where('id', '=', id).execute()
}

/** Enables a disabled webhook. It receives the events after `fromEventId`. */
export async function reenableWebhook(trx: Db, id: number, fromEventId: number): Promise<void> {
  await trx.updateTable('webhooks').set({ from_event_id: fromEventId }).where('id', '=', id).execute()
  await setWebhookStatus(trx, id, 'enabled')
}

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
  const secret = generateSecret()
  await trx
    .updateTable('webhooks')
    .set((eb) => ({ previous_secret: eb.ref('secret'), previous_secret_until: now + overlapMs, secret }))
    .where('id', '=', id)
    .execute()
  return secret
}

const toSettingsRow = ({ url, events }: WebhookSettings) => ({ url, events: JSON.stringify(events) })

export const toWebhook = (row: Selectable<Tables['webhooks']>): Webhook => ({
  id: row.id,
  url: row.url,
  events: JSON.parse(row.events) as EventType[],
  status: row.status as WebhookStatus,
  statusReason: row.status_reason ?? undefined,
  createdAt: row.created_at,
})
