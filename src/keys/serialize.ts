import { optionalTimestamp, timestamp } from '../clock.ts'
import type { Key } from './key.ts'

/** A key without its secret, for responses and events. Undefined fields are left out of the JSON. */
export const serializeKey = (key: Key, now: number) => ({
  id: key.id,
  name: key.name,
  plan: key.plan,
  limits: key.limits,
  scopes: key.scopes,
  origins: key.origins,
  createdAt: timestamp(key.createdAt),
  lastUsedAt: optionalTimestamp(key.lastUsedAt) ?? null,
  expiresAt: optionalTimestamp(key.expiresAt),
  revokedAt: optionalTimestamp(key.revokedAt),
  bannedUntil:
    key.bannedUntil !== undefined && key.bannedUntil > now ? timestamp(key.bannedUntil) : undefined,
})
