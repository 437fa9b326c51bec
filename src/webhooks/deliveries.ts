import { type Kysely, type RawBuilder, type Selectable, type SelectQueryBuilder, sql } from 'kysely'
import type { DatabaseReader } from '../database/database.ts'
import type { SqlDialect } from '../database/dialect.ts'
import type { Tables } from '../database/tables.ts'
import { keptMs } from '../events/queries.ts'
import { setWebhookStatus, toWebhook } from './queries.ts'
import type { Outcome } from './send.ts'
import { type Delivery, nextAttemptAt, testEvent, type Webhook } from './webhook.ts'

const pruneRowsMax = 1_000
/** A claim outlasts an attempt; after a crash the delivery is free again once it has run out. */
const claimMs = 30_000

export async function addTestDelivery(
  trx: Kysely<Tables>,
  webhookId: number,
  now: number,
): Promise<Delivery> {
  const data = '{"message":"This is a test."}'
  const test = { webhookId, eventId: undefined, eventType: testEvent, eventAt: now, data }
  const id = await insertDeliveries(trx, [test], now)
  return (await findDelivery(trx, webhookId, id)) as Delivery
}

export async function findDelivery(
  db: Kysely<Tables>,
  webhookId: number,
  id: number,
): Promise<Delivery | undefined> {
  const found = await db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('id', '=', id)
    .where('webhook_id', '=', webhookId)
    .executeTakeFirst()
  return found && toDelivery(found)
}

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

export async function retryDelivery(trx: Kysely<Tables>, id: number, now: number): Promise<void> {
  await trx
    .updateTable('webhook_deliveries')
    .set(({ eb }) => ({
      // The schedule begins anew: what somebody asks for by hand must not use it up.
      attempts: eb.case().when('attempts', '>', 1).then(1).else(eb.ref('attempts')).end(),
      status: 'pending',
      next_attempt_at: now,
      claimed_until: 0,
      finished_at: null,
    }))
    .where('id', '=', id)
    .execute()
}

/** First attempts go in the order of the events, one at a time; repetitions have a lane of their own. */
type Lane = 'first' | 'again'
export type DueLane = { webhookId: number; lane: Lane }

/** Lanes with something that can be begun now. What is under way already must not be asked for over and over. */
export async function dueLanes(db: Kysely<Tables>, now: number): Promise<DueLane[]> {
  const lanes: Lane[] = ['first', 'again']
  const due = await Promise.all(
    lanes.map(async (lane) => {
      const rows = await db
        .selectFrom('webhooks')
        .select('webhooks.id as webhookId')
        .where('status', '=', 'enabled')
        .where(({ eb, selectFrom }) =>
          eb(
            headOfLane(selectFrom('webhook_deliveries'), sql.ref('webhooks.id'), lane, now).select(
              'claimed_until',
            ),
            '<=',
            now,
          ),
        )
        .execute()
      return rows.map(({ webhookId }) => ({ webhookId, lane }))
    }),
  )
  return due.flat()
}

type DeliveryQuery = SelectQueryBuilder<Tables, 'webhook_deliveries' | 'webhooks', object>

/**
 * The delivery that comes next in a lane, found by its index alone. `attempts` is written out, for an index of a part of
 * the table is only taken where the query says so in so many words; and the webhook is given as a range, for with one
 * value a planner might take another index that has the ids in order, with everybody's deliveries in it.
 */
export function headOfLane(
  deliveries: unknown,
  webhookId: RawBuilder<unknown>,
  lane: Lane,
  now: number,
): DeliveryQuery {
  const waiting = (deliveries as DeliveryQuery)
    .where(sql<boolean>`webhook_id >= ${webhookId} and webhook_id <= ${webhookId}`)
    .where('next_attempt_at', 'is not', null)
    .orderBy('webhook_id')
    .limit(sql.lit(1))
  return lane === 'first'
    ? waiting.where('attempts', '=', sql.lit(0)).orderBy('webhook_deliveries.id')
    : waiting
        .where('attempts', '>', sql.lit(0))
        .where('next_attempt_at', '<=', now)
        .where('claimed_until', '<=', now)
        .orderBy('next_attempt_at')
}

export type WebhookWithSecret = Webhook & { secret: string; previousSecret: string | undefined }
export type Claim = {
  delivery: Delivery
  webhook: WebhookWithSecret
  /** Which claim it is: one that has run out, and was taken by somebody else, is not this one any more. */
  until: number
}

/** Takes the next due delivery of an endpoint for one attempt, if nobody else has it. */
export async function claimDelivery(
  trx: Kysely<Tables>,
  { forUpdate, forUpdateSkipLocked }: SqlDialect,
  webhookId: number,
  lane: Lane,
  now: number,
): Promise<Claim | undefined> {
  const hook = await trx
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', webhookId)
    .where('status', '=', 'enabled')
    .executeTakeFirst()
  if (!hook) return undefined
  const deliveries = trx.selectFrom('webhook_deliveries')
  const head = headOfLane(deliveries, sql`${webhookId}`, lane, now).selectAll('webhook_deliveries')
  // First attempts have one head, which is waited for; of repetitions anyone will do.
  const found = await (lane === 'first' ? forUpdate(head) : forUpdateSkipLocked(head)).executeTakeFirst()
  // A first attempt that is under way elsewhere keeps its place: the ones behind it wait.
  if (!found || found.claimed_until > now) return undefined
  const until = now + claimMs
  await trx
    .updateTable('webhook_deliveries')
    .set({ claimed_until: until })
    .where('id', '=', found.id)
    .execute()
  const isOverlap = hook.previous_secret !== null && (hook.previous_secret_until ?? 0) > now
  const previousSecret = isOverlap ? (hook.previous_secret ?? undefined) : undefined
  const webhook = { ...toWebhook(hook), secret: hook.secret, previousSecret }
  return { delivery: toDelivery(found), webhook, until }
}

const gone = 410

export const isDelivered = (outcome: Outcome): boolean =>
  'status' in outcome && outcome.status >= 200 && outcome.status < 300

/** Notes how an attempt ended, and what comes of it. */
export async function finishAttempt(
  trx: Kysely<Tables>,
  { forUpdate }: SqlDialect,
  claim: Claim,
  outcome: Outcome,
  now: number,
  random: number,
): Promise<void> {
  const { delivery, webhook } = claim
  const current = await forUpdate(
    trx.selectFrom('webhooks').select(['url', 'status']).where('id', '=', webhook.id),
  ).executeTakeFirst()
  if (!current) return
  const attempts = delivery.attempts + 1
  const status = 'status' in outcome ? outcome.status : undefined
  const isDone = isDelivered(outcome)
  // The address was changed meanwhile: what the old one says is nothing to the new one, which is yet to be tried.
  if (!isDone && current.url !== webhook.url) return releaseDelivery(trx, claim)
  const isOver = isDone || status === gone || current.status === 'disabled'
  const next = isOver ? undefined : nextAttemptAt(attempts, now, random)
  const error = 'error' in outcome ? outcome.error : isDone ? undefined : `The endpoint answered ${status}.`
  const { numUpdatedRows } = await trx
    .updateTable('webhook_deliveries')
    .set({
      attempts,
      status: isDone ? 'delivered' : next === undefined ? 'failed' : 'pending',
      next_attempt_at: next ?? null,
      claimed_until: 0,
      last_status: status ?? null,
      last_error: error ?? null,
      finished_at: next === undefined ? now : null,
    })
    .where('id', '=', delivery.id)
    .where('claimed_until', '=', claim.until)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return
  if (isDone || next !== undefined || current.status === 'disabled') return
  const reason =
    status === gone
      ? 'The endpoint answered 410 Gone.'
      : `Delivery ${delivery.id} failed ${attempts} times. Last: ${error}`
  await setWebhookStatus(trx, webhook.id, 'disabled', reason)
  await failWaiting(trx, webhook.id, 'The webhook was disabled.', now)
}

/** Lets go of a bounded number of deliveries that are as old as the events that are let go, also if they still wait. */
export async function pruneDeliveries(trx: Kysely<Tables>, now: number): Promise<number> {
  const oldest = await trx
    .selectFrom('webhook_deliveries')
    .select(['id', 'created_at'])
    .orderBy('id')
    .limit(pruneRowsMax)
    .execute()
  const old = oldest.filter((delivery) => delivery.created_at <= now - keptMs).map(({ id }) => id)
  if (old.length > 0) await trx.deleteFrom('webhook_deliveries').where('id', 'in', old).execute()
  return old.length
}

/** Gives back a delivery whose attempt was broken off: it has not been tried. */
export async function releaseDelivery(trx: Kysely<Tables>, { delivery, until }: Claim): Promise<void> {
  await trx
    .updateTable('webhook_deliveries')
    .set({ claimed_until: 0 })
    .where('id', '=', delivery.id)
    .where('claimed_until', '=', until)
    .execute()
}

/** What waits for a webhook is not sent any more, save the types that it still wants. */
export async function failWaiting(
  trx: Kysely<Tables>,
  webhookId: number,
  reason: string,
  now: number,
  wanted: readonly string[] = [],
): Promise<void> {
  let query = trx
    .updateTable('webhook_deliveries')
    .set({ status: 'failed', next_attempt_at: null, finished_at: now, last_error: reason })
    .where('webhook_id', '=', webhookId)
    .where('next_attempt_at', 'is not', null)
  if (wanted.length > 0) query = query.where('event_type', 'not in', wanted)
  await query.execute()
}

type NewDelivery = Pick<Delivery, 'webhookId' | 'eventId' | 'eventType' | 'eventAt' | 'data'>

/** Puts messages on their way; answers the id of the last. */
export async function insertDeliveries(
  trx: Kysely<Tables>,
  deliveries: readonly NewDelivery[],
  now: number,
): Promise<number> {
  const rows = deliveries.map(({ webhookId, eventId, eventType, eventAt, data }) => ({
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
  }))
  const added = await trx.insertInto('webhook_deliveries').values(rows).returning('id').execute()
  return added.at(-1)?.id ?? 0
}

const toDelivery = (found: Selectable<Tables['webhook_deliveries']>): Delivery => ({
  id: found.id,
  webhookId: found.webhook_id,
  eventId: found.event_id ?? undefined,
  eventType: found.event_type,
  eventAt: found.event_at,
  data: found.data,
  status: found.status as Delivery['status'],
  attempts: found.attempts,
  nextAttemptAt: found.next_attempt_at ?? undefined,
  lastStatus: found.last_status ?? undefined,
  lastError: found.last_error ?? undefined,
  createdAt: found.created_at,
  finishedAt: found.finished_at ?? undefined,
})
