import type { Kysely, Selectable } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { EventType } from '../events/event.ts'
import { generateSecret, type Webhook, type WebhookStatus } from './webhook.ts'

type WebhookSettings = { url: string; events: readonly EventType[] }

export async function countWebhooks(db: Kysely<Tables>): Promise<number> {
  const row = await db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

export async function createWebhook(
  trx: Kysely<Tables>,
  settings: WebhookSettings,
  fromEventId: number,
  now: number,
) {
  const secret = generateSecret()
  const { id } = await trx
    .insertInto('webhooks')
    .values({ ...row(settings), status: 'enabled', secret, from_event_id: fromEventId, created_at: now })
    .returning('id')
    .executeTakeFirstOrThrow()
  return { webhook: (await findWebhook(trx, id)) as Webhook, secret }
}

export async function findWebhook(db: Kysely<Tables>, id: number): Promise<Webhook | undefined> {
  const found = await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
  return found && toWebhook(found)
}

export async function listWebhooks(db: Kysely<Tables>, limit: number, belowId = Number.MAX_SAFE_INTEGER) {
  const rows = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '<', belowId)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toWebhook)
}

export async function updateWebhook(
  trx: Kysely<Tables>,
  id: number,
  settings: WebhookSettings,
): Promise<void> {
  await trx.updateTable('webhooks').set(row(settings)).where('id', '=', id).execute()
}

export async function setWebhookStatus(
  trx: Kysely<Tables>,
  id: number,
  status: WebhookStatus,
  reason?: string,
): Promise<void> {
  await trx
    .updateTable('webhooks')
    .set({ status, status_reason: reason ?? null })
    .where('id', '=', id)
    .execute()
}

/** An endpoint that was disabled begins anew: with what happens from now on. */
export async function reenableWebhook(trx: Kysely<Tables>, id: number, fromEventId: number): Promise<void> {
  await trx.updateTable('webhooks').set({ from_event_id: fromEventId }).where('id', '=', id).execute()
  await setWebhookStatus(trx, id, 'enabled')
}

export async function deleteWebhook(trx: Kysely<Tables>, id: number): Promise<void> {
  await trx.deleteFrom('webhooks').where('id', '=', id).execute()
}

/** Messages are signed with the new secret and the one before it until the overlap ends. Any older one ends now. */
export async function rotateWebhookSecret(
  trx: Kysely<Tables>,
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

type WebhookRow = Selectable<Tables['webhooks']>

const row = ({ url, events }: WebhookSettings) => ({ url, events: JSON.stringify(events) })

export const toWebhook = (found: WebhookRow): Webhook => ({
  id: found.id,
  url: found.url,
  events: JSON.parse(found.events) as EventType[],
  status: found.status as WebhookStatus,
  statusReason: found.status_reason ?? undefined,
  createdAt: found.created_at,
})
