import type { BlockList } from 'node:net'
import { addressGroup, clientAddress } from '../api/clientAddress.ts'
import { ApiError, apiErrors } from '../api/errors.ts'
import type { Clock } from '../clock.ts'
import { retryAfterSeconds } from './headers.ts'
import type { Limits } from './plans.ts'
import { TransientLimiter } from './transientLimiter.ts'

/** For everything outside the API, by client address and instance. */
export const pageLimits: Limits = { perMinute: 600, perDay: Number.POSITIVE_INFINITY }

/**
 * The number of addresses that are counted. An attacker gains nothing by exceeding it: the allowances of so many
 * addresses are together more than an instance can serve.
 */
export const addressesMax = 10_000

type PageRateLimiterOptions = { readonly clock: Clock; readonly trustedProxies: BlockList }

/** Counts one request for its address. Returns an error if the address has exceeded its limit. */
type PageRateLimiter = (remoteAddress: string, forwardedFor: string | undefined) => ApiError | undefined

export function createPageRateLimiter({ clock, trustedProxies }: PageRateLimiterOptions): PageRateLimiter {
  const limiter = new TransientLimiter<string>(pageLimits, addressesMax)
  return (remoteAddress, forwardedFor) => {
    const now = clock()
    const address = addressGroup(clientAddress(remoteAddress, forwardedFor, trustedProxies))
    const { outcome, windows } = limiter.consume(address, now)
    if (outcome === 'admitted') return undefined
    const seconds = retryAfterSeconds(windows.minute.resetsAt, now)
    return new ApiError(
      apiErrors.rate_limit_exceeded,
      `Your address has sent more than ${pageLimits.perMinute} requests a minute outside the API. Retry after ${seconds} seconds.`,
      { headers: { 'Retry-After': seconds } },
    )
  }
}
