import type { Key } from '../keys/key.ts'
import { serializeKey } from '../keys/schemas.ts'

const headings = ['ID', 'PLAN', 'STATUS', 'LAST USED', 'NAME', 'SCOPES', 'ORIGINS']

/** A table of keys with headings. */
export function formatKeys(keys: readonly Key[], now: number): string {
  const rows = [headings, ...keys.map((key) => columns(key, now))]
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function columns(key: Key, now: number): string[] {
  const { bannedUntil, lastUsedAt } = serializeKey(key, now)
  const isExpired = key.expiresAt !== undefined && key.expiresAt <= now
  const usable = bannedUntil === undefined ? 'active' : `banned until ${bannedUntil}`
  const status = key.revokedAt !== undefined ? 'revoked' : isExpired ? 'expired' : usable
  const list = (values: readonly string[]) => values.join(',') || '-'
  return [
    String(key.id),
    key.plan,
    status,
    lastUsedAt ?? 'never',
    key.name,
    list(key.scopes),
    list(key.origins),
  ]
}
