import type { ApiError } from '../api/errors.ts'
import type { ApiKeyRecord } from '../auth/apiKeyCache.ts'
import type { MaybePromise } from '../maybePromise.ts'
import type { Windows } from './window.ts'

export type Outcome = 'admitted' | 'limited' | 'banned'
export type Decision = { outcome: Outcome; windows: Windows; bannedUntil: number; isNewBan: boolean }

export type Subject = {
  /** The key as it was sent, if one was. */
  readonly token: string | undefined
  /** Where the visit comes from: without a valid key it counts for the group of this address. */
  readonly address: string
  /** The `Origin` header: a publishable key is valid only with one of its own. */
  readonly origin?: string | undefined
  /** Takes nothing from the key's windows. The address pays where the key is banned or has used up its free requests. */
  readonly rateLimitExempt: boolean
}

/** Who came, and what the windows say, at one moment of the clock that decides. */
export type RateLimitResult = {
  readonly now: number
  /** Set where the key is valid, unless the address alone decided. */
  readonly known?: { key: ApiKeyRecord; decision: Decision }
  /** Why the request cannot be authenticated: its address pays for it. */
  readonly problem?: ApiError
  /** The publishable key that was used from an origin that it is not for. */
  readonly wrongOriginKey?: ApiKeyRecord
  /** Set where the address had to pay. */
  readonly address?: Decision
  /** Which state of the store was found. */
  readonly storeVersion?: number | undefined
}

/** Where keys and windows are: in the memory of a single instance, or in a store that several share. */
export type RateLimiter = {
  /** Finds the key and takes from both of its windows or from neither, exactly, whoever else does so at this moment. */
  consume(visitor: Subject): RateLimitResult | Promise<RateLimitResult>
  /** The key and its windows, with nothing taken from anybody. */
  peek(token: string): MaybePromise<RateLimitResult>
  /** Whether a key that was found so long ago may be taken for what it was then. */
  isCurrent(agoMs: number): boolean
  /** The windows of an address as far as this instance knows them, with nothing taken. */
  peekAddress(address: string): { windows: Windows; now: number }
  /** Brings what was counted into the store. */
  flush(): Promise<void>
  /** Lets go of what is no longer needed. */
  sweep(): Promise<void>
  /** Forgets everything that it remembers of keys: the store is another one. */
  forgetKeys(): void
}
