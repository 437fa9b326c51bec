import { isDeepStrictEqual } from 'node:util'
import type { Kysely, Selectable } from 'kysely'
import type * as z from 'zod'
import type { Tables } from '../database/tables.ts'
import { findKey, recordKeyEvent, secretsPerKeyMax, toSettingsRow } from '../keys/queries.ts'
import { type keyRecordSchema, toKeySettings } from './records.ts'

type KeyRecord = z.output<typeof keyRecordSchema>
type KeyRow = Selectable<Tables['api_keys']>

/** `renumbered`: under another id than in the file. `unchanged`: an operator key of this store, which no import changes. */
export type KeyOutcome = 'imported' | 'renumbered' | 'unchanged'

/**
 * Brings a key of another store into this one. It never takes access away from the operator of this store, and it gives a
 * key nothing that HTTP could not give it: what is revoked or ended here stays so.
 */
export async function applyKey(trx: Kysely<Tables>, record: KeyRecord, now: number): Promise<KeyOutcome> {
  const known = await findSame(trx, record)
  if (known === undefined) return addKey(trx, record, now)
  if (isOperatorKey(known, now)) return 'unchanged'
  const before = await findKey(trx, known.id)
  await trx
    .updateTable('api_keys')
    .set({
      ...toSettingsRow(toKeySettings(record)),
      revoked_at: known.revoked_at ?? record.revokedAt,
      unbanned_at: Math.max(known.unbanned_at, unbannedAt(record, now)),
    })
    .where('id', '=', known.id)
    .execute()
  const hasNewSecrets = await mergeSecrets(trx, known.id, record)
  const isChanged = hasNewSecrets || !isDeepStrictEqual(before, await findKey(trx, known.id))
  if (isChanged) await recordKeyEvent(trx, 'key.updated', known.id, now)
  return 'imported'
}

/**
 * The key of this store that the record is about: the one that has a secret of it, or else the same id and time of
 * creation. The id alone does not tell, since every store counts from 1.
 */
async function findSame(trx: Kysely<Tables>, record: KeyRecord): Promise<KeyRow | undefined> {
  const { id, createdAt, secrets } = record
  const candidates = await trx
    .selectFrom('api_keys')
    .selectAll()
    .where((where) =>
      where.or([
        where.and([where('id', '=', id), where('created_at', '=', createdAt)]),
        ...(secrets.length === 0
          ? []
          : [
              where(
                'id',
                'in',
                where
                  .selectFrom('api_key_secrets')
                  .select('key_id')
                  .where(
                    'hash',
                    'in',
                    secrets.map(({ hash }) => hash),
                  ),
              ),
            ]),
      ]),
    )
    .orderBy('id')
    .execute()
  return candidates.find((key) => key.id === id) ?? candidates[0]
}

/** The key of the setting, or one that can manage keys now: the operator of this store depends on it. */
const isOperatorKey = (key: KeyRow, now: number): boolean =>
  key.from_setting === 1 ||
  ((JSON.parse(key.scopes) as string[]).includes('keys:manage') &&
    key.revoked_at === null &&
    (key.expires_at === null || key.expires_at > now))

async function addKey(trx: Kysely<Tables>, record: KeyRecord, now: number): Promise<KeyOutcome> {
  const keys = trx.selectFrom('api_keys').select('id')
  const isTaken = (await keys.where('id', '=', record.id).executeTakeFirst()) !== undefined
  // The setting names one key at most; an imported one beside it is an ordinary key.
  const hasOwn = (await keys.where('from_setting', '=', 1).executeTakeFirst()) !== undefined
  const { id } = await trx
    .insertInto('api_keys')
    .values({
      ...(!isTaken && { id: record.id }),
      ...toSettingsRow(toKeySettings(record)),
      from_setting: record.isFromSetting && !hasOwn ? 1 : 0,
      created_at: record.createdAt,
      revoked_at: record.revokedAt,
      unbanned_at: unbannedAt(record, now),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await mergeSecrets(trx, id, record)
  await recordKeyEvent(trx, 'key.created', id, now)
  return isTaken ? 'renumbered' : 'imported'
}

/** Bans up to this moment are lifted; one that lay ahead would keep the key from being banned at all. */
const unbannedAt = (record: KeyRecord, now: number): number => Math.min(record.unbannedAt, now)

/** Adds secrets that are new here, and ends those that have ended there. Answers whether anything changed. */
async function mergeSecrets(trx: Kysely<Tables>, keyId: number, { secrets }: KeyRecord): Promise<boolean> {
  let isChanged = false
  for (const { hash, createdAt, expiresAt } of secrets) {
    const known = await trx
      .selectFrom('api_key_secrets')
      .select(['key_id', 'expires_at'])
      .where('hash', '=', hash)
      .executeTakeFirst()
    if (known === undefined) {
      const row = { hash, key_id: keyId, created_at: createdAt, expires_at: expiresAt }
      await trx.insertInto('api_key_secrets').values(row).execute()
    } else if (known.key_id === keyId && expiresAt !== null && expiresAt < (known.expires_at ?? never)) {
      await trx
        .updateTable('api_key_secrets')
        .set({ expires_at: expiresAt })
        .where('hash', '=', hash)
        .execute()
    } else continue
    isChanged = true
  }
  if (isChanged) await forgetOldest(trx, keyId)
  return isChanged
}

const never = Number.POSITIVE_INFINITY

/** As many secrets of a key are kept as after a rotation: first those that still work, then the newest. */
async function forgetOldest(trx: Kysely<Tables>, keyId: number): Promise<void> {
  const all = await trx.selectFrom('api_key_secrets').selectAll().where('key_id', '=', keyId).execute()
  const byUse = all.toSorted((a, b) => endOf(b) - endOf(a) || b.created_at - a.created_at)
  for (const { hash } of byUse.slice(secretsPerKeyMax))
    await trx.deleteFrom('api_key_secrets').where('hash', '=', hash).execute()
}

/** Below infinity, whose difference from itself is not a number. */
const endOf = ({ expires_at }: { expires_at: number | null }): number => expires_at ?? Number.MAX_SAFE_INTEGER
