import { optionalTimestamp, timestamp } from '../clock.ts'
import type { Key } from './key.ts'

/** A key for responses and events. Undefined fields are left out of the JSON. */
export const serializeKey = (key: Key, now: number) => ({
  ...key,
  createdAt: timestamp(key.createdAt),
  lastUsedAt: optionalTimestamp(key.lastUsedAt) ?? null,
  expiresAt: optionalTimestamp(key.expiresAt),
  revokedAt: optionalTimestamp(key.revokedAt),
  bannedUntil: optionalTimestamp((key.bannedUntil ?? 0) > now ? key.bannedUntil : undefined),
})
