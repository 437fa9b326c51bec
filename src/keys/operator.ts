import { isDeepStrictEqual } from 'node:util'
import type { Kysely } from 'kysely'
import { hashApiKey, type KeyEnvironment } from '../auth/apiKey.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { type KeySettings, scopes } from './key.ts'
import {
  clearSecretExpiry,
  createKey,
  findKey,
  insertKey,
  recordKeyEvent,
  replaceSecrets,
} from './queries.ts'

const settings: KeySettings = {
  name: 'operator',
  plan: 'enterprise',
  limits: undefined,
  scopes,
  origins: [],
  expiresAt: undefined,
}

/**
 * Sees to it that somebody can manage keys: the key that the operator chose, or else, in a store without any key,
 * a new one, which is returned to be shown once.
 */
export function ensureOperatorKey(
  database: Database,
  { adminKey, environment }: { adminKey: string | undefined; environment: KeyEnvironment },
  now: number,
): Promise<string | undefined> {
  return database.write(async (trx) => {
    if (adminKey !== undefined) return applySetting(trx, adminKey, now)
    const any = await trx.selectFrom('api_keys').select('id').limit(1).executeTakeFirst()
    if (any) return undefined
    return (await createKey(trx, settings, environment, now)).secret
  })
}

/** The setting is the truth: a changed value replaces the old one, and what was revoked meanwhile lives again. */
async function applySetting(trx: Kysely<Tables>, adminKey: string, now: number): Promise<undefined> {
  const holder = await trx
    .selectFrom('api_key_secrets')
    .innerJoin('api_keys', 'api_keys.id', 'api_key_secrets.key_id')
    .select(['api_keys.id', 'from_setting'])
    .where('hash', '=', hashApiKey(adminKey))
    .executeTakeFirst()
  // A key of this store that was made here and is now also named in the setting stays what it is.
  if (holder && holder.from_setting === 0) return undefined
  const current =
    holder ?? (await trx.selectFrom('api_keys').select('id').where('from_setting', '=', 1).executeTakeFirst())
  if (!current) {
    await insertKey(trx, settings, adminKey, now, true)
    return undefined
  }
  const before = await findKey(trx, current.id)
  await trx
    .updateTable('api_keys')
    .set({ revoked_at: null, expires_at: null, scopes: JSON.stringify(scopes), origins: '[]' })
    .where('id', '=', current.id)
    .execute()
  if (!holder) await replaceSecrets(trx, current.id, adminKey, now)
  else await clearSecretExpiry(trx, adminKey)
  const isChanged = !holder || !isDeepStrictEqual(before, await findKey(trx, current.id))
  if (isChanged) await recordKeyEvent(trx, 'key.updated', current.id, now)
  return undefined
}
