import { addressGroup } from '../api/clientAddress.ts'
import { ApiError, apiErrors } from '../api/errors.ts'
import type { PageAllowance } from '../api/router.ts'
import type { Clock } from '../clock.ts'
import { retryAfterSeconds } from './headers.ts'
import { TransientLimiter } from './transientLimiter.ts'

/** For everything outside the API that has no allowance of its own, by client address and instance. */
export const pageAllowance: PageAllowance = { name: 'pages outside the API', perMinute: 600 }

/**
 * The number of addresses that are counted for each allowance. An attacker gains nothing by exceeding it: the allowances
 * of so many addresses are together more than an instance can serve.
 */
export const addressesMax = 10_000

/** Counts one request for its address. Returns an error if the address has exceeded its limit. */
type PageRateLimiter = (address: string, allowance?: PageAllowance) => ApiError | undefined

export function createPageRateLimiter(clock: Clock): PageRateLimiter {
  const limiters = new Map<string, TransientLimiter<string>>()
  return (address, allowance = pageAllowance) => {
    const now = clock()
    const limits = { perMinute: allowance.perMinute, perDay: Number.POSITIVE_INFINITY }
    const limiter = limiters.get(allowance.name) ?? new TransientLimiter(limits, addressesMax)
    limiters.set(allowance.name, limiter)
    const { outcome, windows } = limiter.consume(addressGroup(address), now)
    if (outcome === 'admitted') return undefined
    const seconds = retryAfterSeconds(windows.minute.resetsAt, now)
    return new ApiError(
      apiErrors.rate_limit_exceeded,
      `Your address has sent more than ${allowance.perMinute} requests a minute for ${allowance.name}. Retry after ${seconds} seconds.`,
      { headers: { 'Retry-After': seconds } },
    )
  }
}
