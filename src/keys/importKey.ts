import { isDeepStrictEqual } from 'node:util'
import type { Selectable } from 'kysely'
import * as z from 'zod'
import { integer } from '../api/validation.ts'
import { byCommand } from '../audit/audit.ts'
import type { Db, Trx } from '../database/db.ts'
import type { Tables } from '../database/tables.ts'
import { customLimitMax, customStreamsMax } from '../limits/plans.ts'
import { type RecordChange, recordId, recordTime } from '../records/resource.ts'
import { type KeySettings, validateKeySettings } from './key.ts'
import {
  customLimits,
  findKey,
  findKeyForUpdate,
  recordKeyChange,
  secretsPerKeyMax,
  toSettingsRow,
} from './queries.ts'
import { planSchema, scopesSchema, storedKeyName, storedOriginsSchema } from './schemas.ts'

const secretSchema = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  createdAt: recordTime,
  expiresAt: recordTime.nullable(),
})

/** The rules of the API apply, except that a key can have expired already, and origins can have wildcards. */
export const keyRecordSchema = z
  .object({
    type: z.literal('key'),
    id: recordId,
    name: storedKeyName,
    plan: planSchema,
    perMinute: integer(1, customLimitMax).nullable(),
    perDay: integer(1, customLimitMax).nullable(),
    streams: integer(1, customStreamsMax).nullable().default(null),
    scopes: scopesSchema,
    origins: storedOriginsSchema,
    isFromSetting: z.boolean(),
    createdAt: recordTime,
    expiresAt: recordTime.nullable(),
    revokedAt: recordTime.nullable(),
    unbannedAt: recordTime,
    secrets: z.array(secretSchema).max(secretsPerKeyMax),
  })
  .transform(({ name, plan, perMinute, perDay, streams, scopes, origins, ...record }, context) => {
    const limits = customLimits({ per_minute: perMinute, per_day: perDay, streams })
    const expiresAt = record.expiresAt ?? undefined
    const settings: KeySettings = { name, plan, limits, scopes, origins, expiresAt }
    for (const { field, message } of validateKeySettings(settings, 0))
      context.addIssue({ code: 'custom', path: [field], message })
    return { ...record, settings }
  })
export type KeyRecord = z.output<typeof keyRecordSchema>

type KeyRow = Selectable<Tables['api_keys']>

/** `keysRenumbered`: it was added under a new id. `keysUnchanged`: it is an operator key, which an import never changes. */
type Outcome = readonly [RecordChange, ...remarks: ('keysRenumbered' | 'keysUnchanged')[]]

/**
 * Adds or updates a key. An import never takes access away from the operator of this database, and never gives a key what
 * the API could not give it: it stays revoked, and expired secrets stay expired.
 */
export async function applyKey(trx: Trx, record: KeyRecord, now: number): Promise<Outcome> {
  const existing = await findExisting(trx, record)
  if (!existing) return addKey(trx, record, now)
  if (isOperatorKey(existing, now)) return ['unchanged', 'keysUnchanged']
  const { id } = existing
  const before = await findKeyForUpdate(trx, id)
  const row = nextRow(existing, record, now)
  await trx.updateTable('api_keys').set(row).where('id', '=', id).execute()
  const hasNewSecrets = await mergeSecrets(trx, id, record)
  const isChanged = hasNewSecrets || !isDeepStrictEqual(before, await findKey(trx, id))
  if (isChanged) await recordKeyChange(trx, 'key.updated', id, byCommand('import', now))
  return [hasNewSecrets || !isSameRow(existing, row) ? 'changed' : 'unchanged']
}

/** What an import of this key would do. */
export async function findKeyChange(db: Db, record: KeyRecord, now: number): Promise<RecordChange> {
  const existing = await findExisting(db, record)
  if (!existing) return 'added'
  if (isOperatorKey(existing, now)) return 'unchanged'
  const isSame = isSameRow(existing, nextRow(existing, record, now))
  const { done: hasSameSecrets } = await secretChanges(db, existing.id, record).next()
  return isSame && hasSameSecrets ? 'unchanged' : 'changed'
}

const nextRow = (existing: KeyRow, record: KeyRecord, now: number) => ({
  ...toSettingsRow(record.settings),
  revoked_at: existing.revoked_at ?? record.revokedAt,
  unbanned_at: Math.max(existing.unbanned_at, unbannedAt(record, now)),
})

const isSameRow = (existing: KeyRow, next: Partial<KeyRow>): boolean =>
  Object.entries(next).every(([name, value]) => existing[name as keyof KeyRow] === value)

/**
 * The key with one of the secrets of the record, or with its id and creation time. The id alone is not enough, because
 * every database assigns ids from 1.
 */
async function findExisting(db: Db, record: KeyRecord): Promise<KeyRow | undefined> {
  const { id, createdAt, secrets } = record
  const hashes = secrets.map(({ hash }) => hash)
  const candidates = await db
    .selectFrom('api_keys')
    .selectAll()
    .where(({ eb, or, and, selectFrom }) => {
      const isSameKey = and([eb('id', '=', id), eb('created_at', '=', createdAt)])
      if (hashes.length === 0) return isSameKey
      const holders = selectFrom('api_key_secrets').select('key_id').where(db.dialect.isIn('hash', hashes))
      return or([isSameKey, eb('id', 'in', holders)])
    })
    .orderBy('id')
    .execute()
  return candidates.find((key) => key.id === id) ?? candidates[0]
}

/** The key of PETSTORE_ADMIN_KEY, or a valid key that can manage keys. */
const isOperatorKey = (key: KeyRow, now: number): boolean =>
  key.from_setting === 1 ||
  ((JSON.parse(key.scopes) as string[]).includes('keys:manage') &&
    key.revoked_at === null &&
    (key.expires_at ?? never) > now)

async function addKey(trx: Trx, record: KeyRecord, now: number): Promise<Outcome> {
  const keys = trx.selectFrom('api_keys').select('id')
  const isIdTaken = (await keys.where('id', '=', record.id).executeTakeFirst()) !== undefined
  // At most one key comes from the setting. An imported one next to it becomes an ordinary key.
  const hasSettingKey = (await keys.where('from_setting', '=', 1).executeTakeFirst()) !== undefined
  const { id } = await trx
    .insertInto('api_keys')
    .values({
      ...(!isIdTaken && { id: record.id }),
      ...toSettingsRow(record.settings),
      from_setting: Number(record.isFromSetting && !hasSettingKey),
      created_at: record.createdAt,
      revoked_at: record.revokedAt,
      unbanned_at: unbannedAt(record, now),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await mergeSecrets(trx, id, record)
  await recordKeyChange(trx, 'key.created', id, byCommand('import', now))
  return isIdTaken ? ['added', 'keysRenumbered'] : ['added']
}

/** Bans before this time are lifted. A time in the future would prevent bans. */
const unbannedAt = (record: KeyRecord, now: number): number => Math.min(record.unbannedAt, now)

/** The secrets that are new, or expire earlier in the file. */
async function* secretChanges(db: Db, keyId: number, { secrets }: KeyRecord) {
  for (const secret of secrets) {
    const existing = await db
      .selectFrom('api_key_secrets')
      .select(['key_id', 'expires_at'])
      .where('hash', '=', secret.hash)
      .executeTakeFirst()
    const isShortened =
      existing?.key_id === keyId && (secret.expiresAt ?? never) < (existing.expires_at ?? never)
    if (!existing || isShortened) yield secret
  }
}

/** Returns whether anything changed. */
async function mergeSecrets(trx: Trx, keyId: number, record: KeyRecord): Promise<boolean> {
  let isChanged = false
  for await (const { hash, createdAt, expiresAt: expires_at } of secretChanges(trx, keyId, record)) {
    await trx
      .insertInto('api_key_secrets')
      .values({ hash, key_id: keyId, created_at: createdAt, expires_at })
      .onConflict((conflict) => conflict.column('hash').doUpdateSet({ expires_at }))
      .execute()
    isChanged = true
  }
  if (isChanged) await deleteExcessSecrets(trx, keyId)
  return isChanged
}

/** Keeps as many secrets as a rotation does: valid ones first, then the newest. */
async function deleteExcessSecrets(trx: Trx, keyId: number): Promise<void> {
  const secrets = await trx.selectFrom('api_key_secrets').selectAll().where('key_id', '=', keyId).execute()
  const byExpiry = secrets.toSorted(
    (a, b) => (b.expires_at ?? never) - (a.expires_at ?? never) || b.created_at - a.created_at,
  )
  for (const { hash } of byExpiry.slice(secretsPerKeyMax))
    await trx.deleteFrom('api_key_secrets').where('hash', '=', hash).execute()
}

/** Finite, because the difference of two infinities is not a number. */
const never = Number.MAX_SAFE_INTEGER
