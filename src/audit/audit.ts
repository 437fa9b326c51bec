/** The audit log: who changed what, and when. Its rules, without HTTP and SQL. */

import type { Actor } from '../actor.ts'

/** Who makes a change, when, and in which request. The context of a request is one. */
export type AuditContext = {
  readonly now: number
  readonly principal: Actor
  readonly requestId?: string | undefined
}

export const byCommand = (command: string, now: number): AuditContext => ({ now, principal: { command } })

/** For what the service does without a request: bans, disabled webhooks, and the operator key of a start. */
export const byService = (now: number): AuditContext => byCommand('serve', now)

export const auditActions = [
  'key.created',
  'key.updated',
  'key.rotated',
  'key.revoked',
  'key.banned',
  'key.unbanned',
  'webhook.created',
  'webhook.updated',
  'webhook.paused',
  'webhook.resumed',
  'webhook.disabled',
  'webhook.rotated',
  'webhook.tested',
  'webhook.retried',
  'webhook.deleted',
  'order.customer_erased',
  'store.updated',
  'database.imported',
  'database.restored',
] as const
export type AuditAction = (typeof auditActions)[number]

export const auditRetentionMs = 400 * 24 * 60 * 60 * 1000
