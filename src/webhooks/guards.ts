import { ApiError, apiErrors, orNotFound } from '../api/errors.ts'
import type { Principal } from '../api/operation.ts'
import type { Db, Trx } from '../database/db.ts'
import { isPrivateEvent } from '../events/event.ts'
import { findWebhook, findWebhookForUpdate, type Webhook } from './queries.ts'
import { webhookErrors } from './schemas.ts'

export async function webhookOrNotFound(db: Db, id: bigint): Promise<Webhook> {
  return orNotFound(await findWebhook(db, Number(id)), webhookErrors.webhook_not_found)
}

/** Locks the webhook until the end of the transaction. */
export async function webhookToChange(trx: Trx, id: bigint): Promise<Webhook> {
  return orNotFound(await findWebhookForUpdate(trx, Number(id)), webhookErrors.webhook_not_found)
}

/** The same for a webhook that messages are queued for by hand: they would stay pending if it is disabled. */
export async function webhookToSendTo(trx: Trx, id: bigint): Promise<Webhook> {
  const webhook = await webhookToChange(trx, id)
  if (webhook.status === 'disabled') throw new ApiError(webhookErrors.webhook_disabled)
  return webhook
}

/** Key events require `keys:manage`: a webhook must not be a way around the scopes of the events API. */
export function requireEventAccess(eventTypes: readonly string[], principal: Principal): void {
  if (eventTypes.some(isPrivateEvent) && !principal.scopes.has('keys:manage'))
    throw new ApiError(
      apiErrors.insufficient_scope,
      'This API key lacks the scope "keys:manage", which key events require.',
    )
}
