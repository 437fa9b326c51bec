import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { byService } from '../audit/audit.ts'
import { recordAudit } from '../audit/queries.ts'
import type { Db, Trx } from '../database/db.ts'
import type { Tables } from '../database/tables.ts'
import { cutoffReason, failedFields, failPendingDeliveries, findCutoffs } from './cutoffs.ts'
import type { Delivery } from './deliveries.ts'
import { lockDispatch } from './dispatch.ts'
import { findWebhookForUpdate, toWebhook, updateWebhook, type Webhook } from './queries.ts'
import { type AttemptOutcome, goneStatus, isDelivered, nextAttemptAt } from './webhook.ts'

/** Longer than an attempt can take. After a crash the delivery can be claimed again when its claim expires. */
const claimMs = 30_000

/**
 * Each webhook has two lanes with one attempt at a time in each. First attempts are made in the order of the events, and
 * a retry never delays them.
 */
const lanes = ['first', 'retry'] as const
type Lane = (typeof lanes)[number]
export type DueLane = { webhookId: number; lane: Lane }

/** Lanes whose next delivery is due and not claimed. */
export async function dueLanes(db: Db, now: number): Promise<DueLane[]> {
  const due = await Promise.all(
    lanes.map((lane) =>
      db
        .selectFrom('webhooks')
        .select(['webhooks.id as webhookId', sql.lit(lane).as('lane')])
        .where('status', '=', 'enabled')
        .where(({ eb, selectFrom }) => {
          const next = nextInLane(selectFrom('webhook_deliveries'), sql.ref('webhooks.id'), lane, now)
          return eb(next.select('claimed_until'), '<=', now)
        })
        .execute(),
    ),
  )
  return due.flat()
}

type DeliveryQuery = SelectQueryBuilder<Tables, 'webhook_deliveries' | 'webhooks', object>

/**
 * The next delivery of a lane, found by an index alone. Planners use a partial index only if the query repeats its
 * condition literally, so the values of `attempts` are literals. The webhook is given as a range: with an equality a
 * planner may choose the index by id, which holds the deliveries of all webhooks.
 */
export function nextInLane(deliveries: unknown, webhookId: RawBuilder<unknown>, lane: Lane, now: number) {
  const pending = (deliveries as DeliveryQuery)
    .where(sql<boolean>`webhook_id >= ${webhookId} and webhook_id <= ${webhookId}`)
    .where('next_attempt_at', 'is not', null)
    .orderBy('webhook_id')
    .limit(sql.lit(1))
  return lane === 'first'
    ? pending.where('attempts', '=', sql.lit(0)).orderBy('webhook_deliveries.id')
    : pending
        .where('attempts', '>', sql.lit(0))
        .where('next_attempt_at', '<=', now)
        .where('claimed_until', '<=', now)
        .orderBy('next_attempt_at')
}

export type ClaimedDelivery = {
  /** `claimed_until` identifies the claim: an expired one may have been replaced by another instance. */
  delivery: Delivery
  webhook: Webhook
  /** The newest first. There are two during a rotation. */
  secrets: readonly string[]
}

/** Claims the next due delivery of a lane for one attempt. If a cutoff covers that delivery, it fails instead. */
export async function claimDelivery(
  trx: Trx,
  { webhookId, lane }: DueLane,
  now: number,
): Promise<ClaimedDelivery | 'failed' | undefined> {
  // Locked: when a change of the webhook is confirmed, no delivery before its cutoff can still be claimed.
  const webhook = await trx
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', webhookId)
    .where('status', '=', 'enabled')
    .forShare()
    .executeTakeFirst()
  if (!webhook) return undefined
  const cutoffs = await findCutoffs(trx, webhookId)
  const deliveries = trx.selectFrom('webhook_deliveries')
  const next = nextInLane(deliveries, sql`${webhookId}`, lane, now).selectAll('webhook_deliveries')
  // First attempts keep their order, so a locked one is waited for. Retries have no order.
  const locked = lane === 'first' ? next.forUpdate() : next.forUpdate().skipLocked()
  const row = await locked.executeTakeFirst()
  if (!row || row.claimed_until > now) return undefined
  const reason = cutoffReason(cutoffs, row)
  const delivery = await trx
    .updateTable('webhook_deliveries')
    .set(reason === undefined ? { claimed_until: now + claimMs } : failedFields(reason, now))
    .where('id', '=', row.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (reason !== undefined) return 'failed'
  const { secret, previous_secret, previous_secret_until } = webhook
  const isOverlap = previous_secret !== null && (previous_secret_until ?? 0) > now
  const secrets = isOverlap ? [secret, previous_secret] : [secret]
  return { delivery, webhook: toWebhook(webhook), secrets }
}

/** Records the outcome of an attempt: delivered, to be retried, or failed, which disables the webhook. */
export async function finishAttempt(
  trx: Trx,
  claim: ClaimedDelivery,
  outcome: AttemptOutcome,
  now: number,
  random: number,
): Promise<void> {
  const { delivery, webhook } = claim
  const attempts = delivery.attempts + 1
  const status = 'status' in outcome ? outcome.status : undefined
  const isDone = isDelivered(outcome)
  const nextAt = isDone || status === goneStatus ? undefined : nextAttemptAt(attempts, now, random)
  // A webhook that is disabled waits for a running dispatch, which could still create deliveries.
  if (!isDone && nextAt === undefined) await lockDispatch(trx)
  const current = await findWebhookForUpdate(trx, webhook.id)
  if (!current) return
  // The URL was changed during the attempt. A failure at the old URL says nothing about the new one.
  if (!isDone && current.url !== webhook.url) return releaseDelivery(trx, claim)
  const retryAt = current.status === 'disabled' ? undefined : nextAt
  const error =
    'error' in outcome ? outcome.error : isDone ? undefined : `The endpoint responded with ${status}.`
  const { numUpdatedRows } = await trx
    .updateTable('webhook_deliveries')
    .set({
      attempts,
      status: isDone ? 'delivered' : retryAt === undefined ? 'failed' : 'pending',
      next_attempt_at: retryAt ?? null,
      claimed_until: 0,
      last_status: status ?? null,
      last_error: error ?? null,
      finished_at: retryAt === undefined ? now : null,
    })
    .where('id', '=', delivery.id)
    .where('claimed_until', '=', delivery.claimed_until)
    // One that a change made fail during the attempt is not retried.
    .$if(retryAt !== undefined, (query) => query.where('next_attempt_at', 'is not', null))
    .executeTakeFirst()
  if (numUpdatedRows === 0n || isDone || retryAt !== undefined || current.status === 'disabled') return
  const reason =
    status === goneStatus
      ? 'The endpoint responded with 410 Gone.'
      : `Delivery ${delivery.id} failed ${delivery.earlier_attempts + attempts} times. Last error: ${error}`
  await updateWebhook(trx, webhook.id, { status: 'disabled', status_reason: reason })
  await failPendingDeliveries(trx, webhook.id, now)
  await recordAudit(trx, byService(now), 'webhook.disabled', `webhook ${webhook.id}`)
}

/** Releases a delivery without counting the attempt. */
export async function releaseDelivery(trx: Trx, { delivery }: ClaimedDelivery): Promise<void> {
  await trx
    .updateTable('webhook_deliveries')
    .set({ claimed_until: 0 })
    .where('id', '=', delivery.id)
    .where('claimed_until', '=', delivery.claimed_until)
    .execute()
}
