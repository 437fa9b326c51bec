import { addressGroup } from '../api/clientAddress.ts'
import { ApiError } from '../api/errors.ts'
import type { ApiKeyCache, ApiKeyRecord } from '../auth/apiKeyCache.ts'
import type { Clock } from '../clock.ts'
import { isPublishable, isUsableFrom } from '../keys/key.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import type { MemoryCounts } from './memoryCounts.ts'
import type { Decision, RateLimiter, RateLimitResult, Subject } from './rateLimiter.ts'
import { addressLimits, freeLimits } from './window.ts'

/** Keys from the directory and windows in memory: for a store that one instance has to itself. */
export function memoryRateLimiter(directory: ApiKeyCache, limiter: MemoryCounts, clock: Clock): RateLimiter {
  const pay = (address: string, now: number) =>
    limiter.admitAddress(addressGroup(address), addressLimits, now)

  const hasFreeRequest = (key: ApiKeyRecord, now: number) =>
    limiter.admitAddress(`key ${key.id}`, freeLimits, now).outcome === 'admitted'

  function count(
    key: ApiKeyRecord,
    { address, origin, rateLimitExempt: isFree }: Subject,
  ): RateLimitResult | Promise<RateLimitResult> {
    const now = clock()
    if (!isUsableFrom(key, origin))
      return {
        now,
        wrongOriginKey: key,
        problem: new ApiError('origin_not_allowed'),
        address: pay(address, now),
      }
    if (isFree) return chain(lookAt(key, now), (found) => charge(found, address))
    const { id, limits, unbannedAt } = key
    return chain(
      limiter.admitKey(id, limits, unbannedAt, now, !isPublishable(key)),
      (decision: Decision): RateLimitResult => ({ now, known: { key, decision } }),
    )
  }

  /** What is free of charge for the key, up to an allowance; beyond it, and while the key is banned, its address pays. */
  function charge({ now, known }: LookedAt, address: string): RateLimitResult {
    const isPaid = known.decision.outcome !== 'banned' && hasFreeRequest(known.key, now)
    return isPaid ? { now, known } : { now, known, address: pay(address, now) }
  }

  const lookAt = (key: ApiKeyRecord, now: number): MaybePromise<LookedAt> =>
    chain(
      limiter.lookAtKey(key.id, key.limits, key.unbannedAt, now, !isPublishable(key)),
      (decision: Decision) => ({ now, known: { key, decision } }),
    )

  async function admitUnknown(visitor: Subject): Promise<RateLimitResult> {
    const { token, address } = visitor
    const lookup = token === undefined ? undefined : await directory.find(token, clock())
    if (lookup && 'key' in lookup) return count(lookup.key, visitor)
    const now = clock()
    const problem = lookup ? new ApiError('invalid_api_key', lookup.problem) : new ApiError('missing_api_key')
    return { now, problem, address: pay(address, now) }
  }

  return {
    consume(visitor) {
      const key = visitor.token === undefined ? undefined : directory.known(visitor.token, clock())
      return key ? count(key, visitor) : admitUnknown(visitor)
    },
    peek(token) {
      const now = clock()
      const known = directory.known(token, now)
      if (known) return lookAt(known, now)
      return directory
        .find(token, now)
        .then((lookup) =>
          'key' in lookup
            ? lookAt(lookup.key, now)
            : { now, problem: new ApiError('invalid_api_key', lookup.problem) },
        )
    },
    // Looking costs nothing here.
    isCurrent: () => false,
    peekAddress(address) {
      const now = clock()
      return { now, windows: limiter.lookAtAddress(addressGroup(address), addressLimits, now).windows }
    },
    flush: () => limiter.flush(),
    async sweep() {},
    forgetKeys: () => limiter.forgetKeys(),
  }
}

type LookedAt = Required<Pick<RateLimitResult, 'now' | 'known'>>
