import { isDeepStrictEqual } from 'node:util'
import type { InferResult } from 'kysely'
import type { AuditAction, AuditContext } from '../audit/audit.ts'
import { recordAudit } from '../audit/queries.ts'
import { generateApiKey, hashApiKey, type KeyEnvironment } from '../auth/apiKey.ts'
import type { Db, Trx } from '../database/db.ts'
import { firstOf } from '../database/preparedQuery.ts'
import type { EventType } from '../events/event.ts'
import { recordEvent } from '../events/queries.ts'
import type { KeyLimits, Plan } from '../limits/plans.ts'
import type { Key, KeySettings, Scope } from './key.ts'
import { serializeKey } from './schemas.ts'

/** Expired secrets are retained, so that an error can say why a secret no longer works. */
export const secretsPerKeyMax = 10

/** Creates a key with a new secret. Only the hash of the secret is stored. */
export async function createKey(
  trx: Trx,
  settings: KeySettings,
  environment: KeyEnvironment,
  audit: AuditContext,
): Promise<{ key: Key; secret: string }> {
  const secret = generateApiKey(environment)
  return { key: await insertKey(trx, settings, secret, audit, false), secret }
}

export async function insertKey(
  trx: Trx,
  settings: KeySettings,
  secret: string,
  audit: AuditContext,
  isFromSetting: boolean,
): Promise<Key> {
  const { id } = await trx
    .insertInto('api_keys')
    .values({
      ...toSettingsRow(settings),
      from_setting: Number(isFromSetting),
      created_at: audit.now,
      unbanned_at: 0,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await insertSecret(trx, id, secret, audit.now)
  return recordKeyChange(trx, 'key.created', id, audit)
}

export async function updateKey(trx: Trx, key: Key, settings: KeySettings, audit: AuditContext) {
  const { id } = key
  // Without a change there is no event.
  if (isDeepStrictEqual(toSettingsRow(key), toSettingsRow(settings))) return key
  await trx.send(trx.updateTable('api_keys').set(toSettingsRow(settings)).where('id', '=', id))
  return recordKeyChange(trx, 'key.updated', id, audit)
}

export async function revokeKey(trx: Trx, key: Key, audit: AuditContext): Promise<Key> {
  const { id, revokedAt } = key
  if (revokedAt !== undefined) return key
  await trx.send(trx.updateTable('api_keys').set({ revoked_at: audit.now }).where('id', '=', id))
  return recordKeyChange(trx, 'key.revoked', id, audit)
}

export async function unbanKey(trx: Trx, { id }: Key, audit: AuditContext): Promise<Key> {
  const usages = trx.selectFrom('key_usage').select('banned_at')
  const usage = await usages.where('key_id', '=', id).executeTakeFirst()
  // The ban may carry a later time from the clock of another instance.
  const unbanned_at = Math.max(audit.now, usage?.banned_at ?? 0)
  await trx.send(trx.updateTable('api_keys').set({ unbanned_at }).where('id', '=', id))
  return recordKeyChange(trx, 'key.unbanned', id, audit)
}

/**
 * Adds a new secret. The previous one stays valid for the overlap, and older ones expire now. The previous one is the one
 * that has no end, independent of `created_at`: that is the clock of the instance that made it. A key has several without
 * an end only after an import, or if the secret of PETSTORE_ADMIN_KEY was rotated.
 */
export async function rotateKey(
  trx: Trx,
  id: number,
  environment: KeyEnvironment,
  overlapMs: number,
  audit: AuditContext,
): Promise<{ key: Key; secret: string }> {
  const { now } = audit
  const previous = await trx
    .selectFrom('api_key_secrets')
    .select(['hash', 'expires_at'])
    .where('key_id', '=', id)
    .orderBy('expires_at', (order) => order.desc().nullsFirst())
    .orderBy('created_at', 'desc')
    .execute()
  for (const [index, { hash, expires_at }] of previous.entries()) {
    if (index >= secretsPerKeyMax - 1) {
      await trx.send(trx.deleteFrom('api_key_secrets').where('hash', '=', hash))
      continue
    }
    const endsAt = Math.min(expires_at ?? Number.POSITIVE_INFINITY, index === 0 ? now + overlapMs : now)
    await trx.send(trx.updateTable('api_key_secrets').set({ expires_at: endsAt }).where('hash', '=', hash))
  }
  const secret = generateApiKey(environment)
  await insertSecret(trx, id, secret, now)
  return { key: await recordKeyChange(trx, 'key.rotated', id, audit), secret }
}

export const findKey = (db: Db, id: number) => firstOf(keyRows(db).where('api_keys.id', '=', id), toKey)

/** Locks the key until the end of the transaction. */
export const findKeyForUpdate = (trx: Trx, id: number) =>
  firstOf(keyRows(trx).where('api_keys.id', '=', id).forUpdate('api_keys'), toKey)

/** One page of keys, newest first. */
export async function listKeys(db: Db, limit: number, belowId = Number.MAX_SAFE_INTEGER): Promise<Key[]> {
  const page = keyRows(db).where('api_keys.id', '<', belowId).orderBy('api_keys.id', 'desc').limit(limit)
  return (await page.execute()).map(toKey)
}

/** Records the event and the audit entry of a change, and returns the current key. Every change of a key calls this. */
export async function recordKeyChange(
  trx: Trx,
  action: Extract<AuditAction, `key.${string}`>,
  id: number,
  audit: AuditContext,
): Promise<Key> {
  const key = (await findKey(trx, id)) as Key
  const type: EventType = action === 'key.created' || action === 'key.revoked' ? action : 'key.updated'
  await recordEvent(trx, audit.now, type, serializeKey(key, audit.now))
  await recordAudit(trx, audit, action, `key ${id}`)
  return key
}

const keyRows = (db: Db) =>
  db
    .selectFrom('api_keys')
    .leftJoin('key_usage', 'key_usage.key_id', 'api_keys.id')
    .selectAll('api_keys')
    .select(['key_usage.last_used_at', 'key_usage.banned_at', 'key_usage.banned_until'])

export async function insertSecret(trx: Trx, keyId: number, secret: string, now: number): Promise<void> {
  const values = { hash: hashApiKey(secret), key_id: keyId, created_at: now, expires_at: null }
  await trx.send(trx.insertInto('api_key_secrets').values(values))
}

export const toSettingsRow = ({ name, plan, limits, scopes, origins, expiresAt }: KeySettings) => ({
  name,
  plan,
  per_minute: limits?.perMinute ?? null,
  per_day: limits?.perDay ?? null,
  streams: limits?.streams ?? null,
  scopes: JSON.stringify(scopes),
  origins: JSON.stringify(origins),
  expires_at: expiresAt ?? null,
})

type KeyRow = InferResult<ReturnType<typeof keyRows>>[number]

/** The limits that a key has in place of those of its plan. */
export function customLimits(row: Pick<KeyRow, 'per_minute' | 'per_day' | 'streams'>) {
  const limits: Partial<KeyLimits> = {
    ...(row.per_minute !== null && { perMinute: row.per_minute }),
    ...(row.per_day !== null && { perDay: row.per_day }),
    ...(row.streams !== null && { streams: row.streams }),
  }
  return Object.keys(limits).length === 0 ? undefined : limits
}

/** A ban ends when it is lifted or when the key becomes publishable. */
const isBanInForce = (row: KeyRow): boolean => row.origins === '[]' && (row.banned_at ?? 0) > row.unbanned_at

const toKey = (row: KeyRow): Key => ({
  id: row.id,
  name: row.name,
  plan: row.plan as Plan,
  limits: customLimits(row),
  scopes: JSON.parse(row.scopes) as Scope[],
  origins: JSON.parse(row.origins) as string[],
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at || undefined,
  expiresAt: row.expires_at ?? undefined,
  revokedAt: row.revoked_at ?? undefined,
  bannedUntil: isBanInForce(row) ? (row.banned_until ?? undefined) : undefined,
})
