import type { Limits } from './plans.ts'
import type { Windows } from './window.ts'

/** What counting needs to know about an API key. */
export type LimitedKey = {
  readonly id: number
  readonly limits: Limits
  readonly origins: readonly string[]
  readonly unbannedAt: number
}

/** A key with origins is publishable: it is valid with these origins only, and it is never banned, because it is public. */
export const isPublishable = ({ origins }: Pick<LimitedKey, 'origins'>): boolean => origins.length > 0

export const isUsableFrom = (key: Pick<LimitedKey, 'origins'>, origin: string | undefined): boolean =>
  !isPublishable(key) || (origin !== undefined && key.origins.includes(origin))

/** What counting in memory and counting in PostgreSQL have in common. */
export type RateLimiter = {
  /** The windows of an address as far as this instance knows them. Counts nothing. */
  peekAddress(address: string): { readonly windows: Windows; readonly now: number }
  /** Writes pending counts to the database. */
  flush(): Promise<void>
  /** Deletes counts that are no longer needed. */
  sweep(): Promise<void>
  /** Drops everything cached about keys, because the database was replaced. */
  forgetKeys(): void
}
