import type { BlockList } from 'node:net'
import { addressGroup, clientAddress } from '../api/clientAddress.ts'
import { ApiError } from '../api/errors.ts'
import type { Clock } from '../clock.ts'
import type { Limits } from '../keys/plans.ts'
import { retryAfter } from './headers.ts'
import { advance, consume, noUsage, type Usage, windowsOf } from './window.ts'

/** For everything outside the API, by client address and instance. */
export const pageLimits: Limits = { perMinute: 600, perDay: Number.POSITIVE_INFINITY }

/**
 * Addresses that are remembered; beyond it the least recently seen is forgotten and starts again. An attacker gains nothing
 * by it: with so many addresses, their allowances together are more than an instance can serve.
 */
export const addressesMax = 10_000

type PageAllowanceOptions = { readonly clock: Clock; readonly trustedProxies: BlockList }

/** Takes one request from the allowance of its address; returns the error to answer where nothing is left. */
type PageAllowance = (remoteAddress: string, forwardedFor: string | undefined) => ApiError | undefined

export function createPageAllowance({ clock, trustedProxies }: PageAllowanceOptions): PageAllowance {
  const usages = new Map<string, Usage>()
  return (remoteAddress, forwardedFor) => {
    const address = addressGroup(clientAddress(remoteAddress, forwardedFor, trustedProxies))
    const now = clock()
    const before = advance(usages.get(address) ?? noUsage, now)
    const taken = consume(before, pageLimits, now)
    // Removed and added, so that the order of the map is the order of use.
    usages.delete(address)
    usages.set(address, taken ?? before)
    if (usages.size > addressesMax) usages.delete(usages.keys().next().value as string)
    return taken ? undefined : exceeded(windowsOf(before, pageLimits, now).minute.resetsAt, now)
  }
}

function exceeded(resetsAt: number, now: number): ApiError {
  const seconds = retryAfter(resetsAt, now)
  return new ApiError(
    'rate_limit_exceeded',
    `Your address has sent more than ${pageLimits.perMinute} requests a minute outside the API. Retry after ${seconds} seconds.`,
    { headers: { 'Retry-After': seconds } },
  )
}
