import { timestamp } from '../clock.ts'
import type { Key } from './key.ts'

/** A key as its operator sees it, in answers and in events: without its secret. */
export const serializeKey = (key: Key, now: number) => ({
  id: key.id,
  name: key.name,
  plan: key.plan,
  ...(key.limits && { limits: key.limits }),
  scopes: key.scopes,
  origins: key.origins,
  createdAt: timestamp(key.createdAt),
  lastUsedAt: key.lastUsedAt === undefined ? null : timestamp(key.lastUsedAt),
  ...(key.expiresAt !== undefined && { expiresAt: timestamp(key.expiresAt) }),
  ...(key.revokedAt !== undefined && { revokedAt: timestamp(key.revokedAt) }),
  ...(key.bannedUntil !== undefined && key.bannedUntil > now && { bannedUntil: timestamp(key.bannedUntil) }),
})
