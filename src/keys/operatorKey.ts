import { isDeepStrictEqual } from 'node:util'
import { type AuditContext, byService } from '../audit/audit.ts'
import { hashApiKey, type KeyEnvironment } from '../auth/apiKey.ts'
import type { Database } from '../database/database.ts'
import type { Trx } from '../database/db.ts'
import { type KeySettings, scopes } from './key.ts'
import { createKey, findKey, findKeyForUpdate, insertKey, insertSecret, recordKeyChange } from './queries.ts'

const operatorSettings: KeySettings = {
  name: 'operator',
  plan: 'enterprise',
  limits: undefined,
  scopes,
  origins: [],
  expiresAt: undefined,
}

/**
 * Ensures that there is a key that can manage keys: the one from PETSTORE_ADMIN_KEY, or a new one if the database has no
 * keys. Returns the secret of a new key, which cannot be read again.
 */
export function ensureOperatorKey(
  database: Database,
  { adminKey, environment }: { adminKey: string | undefined; environment: KeyEnvironment },
  now: number,
): Promise<string | undefined> {
  const audit = byService(now)
  return database.write(async (trx) => {
    await trx.lockName('operator key')
    if (adminKey !== undefined) {
      await applyAdminKey(trx, adminKey, audit)
      return undefined
    }
    const existing = await trx.selectFrom('api_keys').select('id').limit(1).executeTakeFirst()
    return existing ? undefined : (await createKey(trx, operatorSettings, environment, audit)).secret
  })
}

/** The setting wins at every start: a changed value replaces the previous key, and a revoked key becomes valid again. */
async function applyAdminKey(trx: Trx, adminKey: string, audit: AuditContext): Promise<void> {
  const hash = hashApiKey(adminKey)
  const existing = await trx
    .selectFrom('api_key_secrets')
    .innerJoin('api_keys', 'api_keys.id', 'api_key_secrets.key_id')
    .select(['api_keys.id', 'from_setting'])
    .where('hash', '=', hash)
    .executeTakeFirst()
  // The setting names a key that was created in another way: it stays unchanged.
  if (existing?.from_setting === 0) return
  const fromSetting = trx.selectFrom('api_keys').select('id').where('from_setting', '=', 1)
  const id = existing?.id ?? (await fromSetting.executeTakeFirst())?.id
  if (id === undefined) {
    await insertKey(trx, operatorSettings, adminKey, audit, true)
    return
  }
  const before = await findKeyForUpdate(trx, id)
  await trx
    .updateTable('api_keys')
    .set({ revoked_at: null, expires_at: null, scopes: JSON.stringify(scopes), origins: '[]' })
    .where('id', '=', id)
    .execute()
  if (existing) {
    // A rotation may have expired it.
    await trx.updateTable('api_key_secrets').set({ expires_at: null }).where('hash', '=', hash).execute()
  } else {
    await trx.deleteFrom('api_key_secrets').where('key_id', '=', id).execute()
    await insertSecret(trx, id, adminKey, audit.now)
  }
  const isChanged = !existing || !isDeepStrictEqual(before, await findKey(trx, id))
  if (isChanged) await recordKeyChange(trx, 'key.updated', id, audit)
}
