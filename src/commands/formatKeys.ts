import type { Key } from '../keys/key.ts'
import { serializeKey } from '../keys/schemas.ts'
import { effectiveLimits } from '../limits/plans.ts'
import { formatTable } from './output/table.ts'

const headings = ['ID', 'NAME', 'PLAN', 'STATUS', 'LIMITS', 'EXPIRES', 'LAST USED', 'SCOPES', 'ORIGINS']

/** A table of keys, or a block for each of them if the terminal is too narrow. */
export const formatKeys = (keys: readonly Key[], now: number, width = process.stdout.columns): string =>
  formatTable(
    headings,
    keys.map((key) => columns(key, now)),
    width,
  )

function columns(key: Key, now: number): string[] {
  const { bannedUntil, lastUsedAt, expiresAt } = serializeKey(key, now)
  const { perMinute, perDay, streams } = effectiveLimits(key.plan, key.limits ?? {})
  const isExpired = key.expiresAt !== undefined && key.expiresAt <= now
  const usable = bannedUntil === undefined ? 'active' : `banned until ${bannedUntil}`
  const status = key.revokedAt !== undefined ? 'revoked' : isExpired ? 'expired' : usable
  const list = (values: readonly string[]) => values.join(',') || '-'
  return [
    String(key.id),
    key.name,
    key.plan,
    status,
    `${perMinute}/min ${perDay}/day ${streams} streams`,
    expiresAt ?? 'never',
    lastUsedAt ?? 'never',
    list(key.scopes),
    list(key.origins),
  ]
}
