import { isDeepStrictEqual } from 'node:util'
import type { Kysely, Selectable } from 'kysely'
import { hashApiKey, type KeyEnvironment, makeApiKey } from '../auth/apiKey.ts'
import type { Tables } from '../database/tables.ts'
import type { EventType } from '../events/event.ts'
import { recordEvent } from '../events/queries.ts'
import type { KeyLimits, Plan } from '../limits/plans.ts'
import type { Key, KeySettings, Scope } from './key.ts'
import { serializeKey } from './serialize.ts'

/** Secrets that a key has had are remembered, so that its holder can be told why one no longer works; this many. */
export const secretsKeptMax = 10

type MadeKey = { key: Key; secret: string }

/** Makes a key. Its secret is returned once and kept as a hash alone. */
export async function createKey(
  trx: Kysely<Tables>,
  settings: KeySettings,
  environment: KeyEnvironment,
  now: number,
): Promise<MadeKey> {
  const secret = makeApiKey(environment)
  const key = await insertKey(trx, settings, secret, now, false)
  return { key, secret }
}

export async function insertKey(
  trx: Kysely<Tables>,
  settings: KeySettings,
  secret: string,
  now: number,
  isFromSetting: boolean,
): Promise<Key> {
  const { id } = await trx
    .insertInto('api_keys')
    .values({
      ...settingsRow(settings),
      from_setting: isFromSetting ? 1 : 0,
      created_at: now,
      unbanned_at: 0,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await insertSecret(trx, id, secret, now)
  return recordKeyEvent(trx, 'key.created', id, now)
}

export async function changeKey(
  trx: Kysely<Tables>,
  id: number,
  settings: KeySettings,
  now: number,
): Promise<void> {
  const before = await findKey(trx, id)
  // What changes nothing is nothing to tell of.
  if (before && isDeepStrictEqual(settingsRow(before), settingsRow(settings))) return
  await trx.updateTable('api_keys').set(settingsRow(settings)).where('id', '=', id).execute()
  await recordKeyEvent(trx, 'key.updated', id, now)
}

export async function revokeKey(trx: Kysely<Tables>, id: number, now: number): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) await recordKeyEvent(trx, 'key.revoked', id, now)
}

export async function unbanKey(trx: Kysely<Tables>, id: number, now: number): Promise<void> {
  const usage = await trx
    .selectFrom('key_usage')
    .select('banned_at')
    .where('key_id', '=', id)
    .executeTakeFirst()
  // Another clock than ours may have dated the ban.
  const unbanned_at = Math.max(now, usage?.banned_at ?? 0)
  await trx.updateTable('api_keys').set({ unbanned_at }).where('id', '=', id).execute()
  await recordKeyEvent(trx, 'key.updated', id, now)
}

/** A new secret; the one before lives on for the overlap, and any older one ends now. */
export async function rotateKey(
  trx: Kysely<Tables>,
  id: number,
  environment: KeyEnvironment,
  overlapMs: number,
  now: number,
): Promise<string> {
  const previous = await trx
    .selectFrom('api_key_secrets')
    .select(['hash', 'expires_at'])
    .where('key_id', '=', id)
    .orderBy('created_at', 'desc')
    .orderBy('expires_at', (order) => order.asc().nullsFirst())
    .execute()
  for (const [index, { hash, expires_at }] of previous.entries()) {
    if (index >= secretsKeptMax - 1) {
      await trx.deleteFrom('api_key_secrets').where('hash', '=', hash).execute()
      continue
    }
    const endsAt = Math.min(expires_at ?? Number.POSITIVE_INFINITY, index === 0 ? now + overlapMs : now)
    await trx.updateTable('api_key_secrets').set({ expires_at: endsAt }).where('hash', '=', hash).execute()
  }
  const secret = makeApiKey(environment)
  await insertSecret(trx, id, secret, now)
  await recordKeyEvent(trx, 'key.updated', id, now)
  return secret
}

export async function replaceSecrets(
  trx: Kysely<Tables>,
  id: number,
  secret: string,
  now: number,
): Promise<void> {
  await trx.deleteFrom('api_key_secrets').where('key_id', '=', id).execute()
  await insertSecret(trx, id, secret, now)
}

/** Lets a secret that a rotation has put an end to live on. */
export async function keepSecret(trx: Kysely<Tables>, secret: string): Promise<void> {
  await trx
    .updateTable('api_key_secrets')
    .set({ expires_at: null })
    .where('hash', '=', hashApiKey(secret))
    .execute()
}

export async function findKey(db: Kysely<Tables>, id: number): Promise<Key | undefined> {
  const row = await keyRows(db).where('api_keys.id', '=', id).executeTakeFirst()
  return row && toKey(row)
}

/** One page of keys, newest first. */
export async function listKeys(
  db: Kysely<Tables>,
  limit: number,
  belowId = Number.MAX_SAFE_INTEGER,
): Promise<Key[]> {
  const rows = await keyRows(db)
    .where('api_keys.id', '<', belowId)
    .orderBy('api_keys.id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toKey)
}

/** Records an event of a key, and answers the key as it is then. Every change of a key ends here. */
export async function recordKeyEvent(
  trx: Kysely<Tables>,
  type: EventType,
  id: number,
  now: number,
): Promise<Key> {
  const key = (await findKey(trx, id)) as Key
  await recordEvent(trx, now, type, serializeKey(key, now))
  return key
}

const keyRows = (db: Kysely<Tables>) =>
  db
    .selectFrom('api_keys')
    .leftJoin('key_usage', 'key_usage.key_id', 'api_keys.id')
    .selectAll('api_keys')
    .select(['key_usage.last_used_at', 'key_usage.banned_at', 'key_usage.banned_until'])

async function insertSecret(trx: Kysely<Tables>, keyId: number, secret: string, now: number): Promise<void> {
  const values = { hash: hashApiKey(secret), key_id: keyId, created_at: now, expires_at: null }
  await trx.insertInto('api_key_secrets').values(values).execute()
}

export const settingsRow = ({ name, plan, limits, scopes, origins, expiresAt }: KeySettings) => ({
  name,
  plan,
  per_minute: limits?.perMinute ?? null,
  per_day: limits?.perDay ?? null,
  streams: limits?.streams ?? null,
  scopes: JSON.stringify(scopes),
  origins: JSON.stringify(origins),
  expires_at: expiresAt ?? null,
})

type KeyRow = Selectable<Tables['api_keys']> & {
  last_used_at: number | null
  banned_at: number | null
  banned_until: number | null
}

function ownLimits({
  per_minute,
  per_day,
  streams,
}: Pick<KeyRow, 'per_minute' | 'per_day' | 'streams'>): Partial<KeyLimits> | undefined {
  const limits = {
    ...(per_minute !== null && { perMinute: per_minute }),
    ...(per_day !== null && { perDay: per_day }),
    ...(streams !== null && { streams }),
  }
  return Object.keys(limits).length === 0 ? undefined : limits
}

/** Whether the last ban of a key is still its own: it has not been lifted, and the key has not become publishable. */
const isBanShown = (row: KeyRow): boolean => row.origins === '[]' && (row.banned_at ?? 0) > row.unbanned_at

const toKey = (row: KeyRow): Key => ({
  id: row.id,
  name: row.name,
  plan: row.plan as Plan,
  limits: ownLimits(row),
  scopes: JSON.parse(row.scopes) as Scope[],
  origins: JSON.parse(row.origins) as string[],
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at || undefined,
  expiresAt: row.expires_at ?? undefined,
  revokedAt: row.revoked_at ?? undefined,
  bannedUntil: isBanShown(row) ? (row.banned_until ?? undefined) : undefined,
})
