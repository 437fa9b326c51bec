import { isDeepStrictEqual } from 'node:util'
import { type Selectable, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Db, Trx } from '../database/db.ts'
import type { Tables } from '../database/tables.ts'
import { type AuditAction, type AuditContext, auditRetentionMs } from './audit.ts'

export type AuditRow = Selectable<Tables['audit_entries']>

const pruneRowsMax = 1_000
const copyRowsMax = 500

/** Appends an entry in the transaction of the change. The subject is a kind and an id, without personal data. */
export function recordAudit(
  trx: Trx,
  { now, principal, requestId }: AuditContext,
  action: AuditAction,
  subject: string,
): Promise<void> {
  const entry = {
    at: now,
    actor_key_id: 'keyId' in principal ? principal.keyId : null,
    actor_command: 'command' in principal ? principal.command : null,
    action,
    subject,
    request_id: requestId ?? null,
  }
  return trx.send(trx.insertInto('audit_entries').values(entry))
}

/** One page of entries, newest first. */
export function listAuditEntries(db: Db, limit: number, belowId = Number.MAX_SAFE_INTEGER) {
  const entries = db.selectFrom('audit_entries').selectAll().where('id', '<', belowId)
  return entries.orderBy('id', 'desc').limit(limit).execute()
}

/** Deletes a bounded number of entries past their retention. Returns how many. */
export async function pruneAuditEntries(trx: Trx, now: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM audit_entries WHERE id IN (
      SELECT id FROM (SELECT id, at FROM audit_entries ORDER BY id LIMIT ${pruneRowsMax}) AS oldest
      WHERE at <= ${now - auditRetentionMs})`.execute(trx)
  return Number(numAffectedRows)
}

/**
 * Copies the entries of a database that is being replaced, unless the restored one has them. They keep their ids if
 * these are free, and get new ones if the backup is of another database. Returns false if not all can be read.
 */
export async function carryOverAuditEntries(restored: Database, replaced: Db): Promise<boolean> {
  const entries = replaced.selectFrom('audit_entries').selectAll().orderBy('id').limit(copyRowsMax)
  for (let lastId = 0; ; ) {
    const rows = await entries
      .where('id', '>', lastId)
      .execute()
      .catch(() => undefined)
    if (!rows) return false
    const last = rows.at(-1)
    if (!last) return true
    lastId = last.id
    await restored.write((trx) => copyEntries(trx, rows))
  }
}

async function copyEntries(trx: Trx, rows: readonly AuditRow[]): Promise<void> {
  const ids = rows.map(({ id }) => id)
  const existing = await trx
    .selectFrom('audit_entries')
    .selectAll()
    .where(trx.dialect.isIn('id', ids))
    .execute()
  const byId = new Map(existing.map((row) => [row.id, row]))
  const missing = rows.filter((row) => !isDeepStrictEqual({ ...byId.get(row.id) }, { ...row }))
  const withId = missing.filter(({ id }) => !byId.has(id))
  const withoutId = missing.filter(({ id }) => byId.has(id)).map(({ id: _id, ...entry }) => entry)
  // First, because the others get the ids after them.
  for (const row of [...withId, ...withoutId]) await trx.insertInto('audit_entries').values(row).execute()
}
