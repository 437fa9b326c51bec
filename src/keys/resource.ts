import { identityCounter, oneByOne, type Resource } from '../records/resource.ts'
import { applyKey, findKeyChange, type KeyRecord, keyRecordSchema } from './importKey.ts'

export const keyResource: Resource<KeyRecord, 'api_keys'> = {
  type: 'key',
  countName: 'keys',
  nouns: ['key', 'keys'],
  table: 'api_keys',
  idColumn: 'id',
  counter: identityCounter('lastKeyId', 'api_keys'),
  requiresWithKeys: true,
  positions: [50],
  async toRecords(rows, db) {
    const ids = rows.map(({ id }) => id)
    const found = await db
      .selectFrom('api_key_secrets')
      .select(['key_id', 'hash', 'created_at as createdAt', 'expires_at as expiresAt'])
      .where(db.dialect.isIn('key_id', ids))
      .orderBy('created_at')
      .orderBy('hash')
      .execute()
    const secrets = Map.groupBy(found, ({ key_id }) => key_id)
    return rows.map((row) => ({
      name: row.name,
      plan: row.plan,
      perMinute: row.per_minute,
      perDay: row.per_day,
      streams: row.streams,
      scopes: JSON.parse(row.scopes),
      origins: JSON.parse(row.origins),
      isFromSetting: row.from_setting === 1,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      revokedAt: row.revoked_at,
      unbannedAt: row.unbanned_at,
      secrets: (secrets.get(row.id) ?? []).map(({ key_id: _, ...secret }) => secret),
    }))
  },
  hasUnrecordedChanges: true,
  schema: keyRecordSchema,
  ...oneByOne(applyKey, findKeyChange),
  remarks: {
    keysRenumbered: (keys) => `${keys} got a new id, because another key has the same id.`,
    keysUnchanged: (keys) =>
      `${keys} that can manage keys in this database stayed as before. See "petstore keys list".`,
  },
}
