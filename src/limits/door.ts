import type { Clock } from '../clock.ts'
import { addressGroup } from '../http/address.ts'
import type { Admission, Door } from '../http/door.ts'
import { ApiError } from '../http/errors.ts'
import type { KeyDirectory, KnownKey } from '../keys/directory.ts'
import type { Limits } from '../keys/plans.ts'
import { bannedHeaders, rateHeaders, retryAfter } from './headers.ts'
import type { Decision, MemoryLimiter } from './memory.ts'
import { tightest } from './window.ts'

/** For callers without a valid key, by their address. */
export const addressLimits: Limits = { perMinute: 100, perDay: 10_000 }

export type DoorOptions = {
  readonly directory: KeyDirectory
  readonly limiter: MemoryLimiter
  readonly clock: Clock
  onBan(keyId: number, untilMs: number): void
}

/** Keys and windows together: who is at the door, and whether there is room. */
export function createDoor({ directory, limiter, clock, onBan }: DoorOptions): Door {
  async function admit({ authorization, address, isFree }: Parameters<Door['admit']>[0]): Promise<Admission> {
    const now = clock()
    const token = bearerToken(authorization)
    if (token === undefined) return admitStranger(address, new ApiError('missing_api_key'))
    const lookup = await directory.find(token, now)
    if ('problem' in lookup) return admitStranger(address, new ApiError('invalid_api_key', lookup.problem))
    return isFree ? admitFree(lookup.key, token, address) : admitKey(lookup.key, token)
  }

  async function admitKey(key: KnownKey, token: string): Promise<Admission> {
    const now = clock()
    const decision = await limiter.admitKey(key.id, key.limits, key.unbannedAt, now)
    if (decision.isNewBan) onBan(key.id, decision.bannedUntil)
    const refusal = refusalOf(decision, now)
    return { caller: callerOf(key, token), headers: headersOf(decision, now), ...(refusal && { refusal }) }
  }

  /** Free of charge; but somebody pays for a banned key's look at its limits, and that is its address. */
  async function admitFree(key: KnownKey, token: string, address: string): Promise<Admission> {
    const now = clock()
    const decision = await limiter.lookAtKey(key.id, key.limits, key.unbannedAt, now)
    if (decision.outcome === 'banned') {
      const paid = limiter.admitAddress(addressGroup(address), addressLimits, now)
      const refusal = refusalOf(paid, now)
      if (refusal) return { refusal, headers: rateHeaders(paid.windows, now) }
    }
    return { caller: callerOf(key, token), headers: headersOf(decision, now) }
  }

  function admitStranger(address: string, refusal: ApiError): Admission {
    const now = clock()
    const decision = limiter.admitAddress(addressGroup(address), addressLimits, now)
    const headers = rateHeaders(decision.windows, now)
    const limited = refusalOf(decision, now)
    if (!limited) return { refusal, headers }
    // Waiting alone will not help: what was wrong with the key still is.
    const message = `${limited.message} Requests without a valid key count for your address. ${refusal.message}`
    return { refusal: new ApiError('rate_limit_exceeded', message, { headers: limited.headers }), headers }
  }

  return {
    admit,
    recall: async (token) => {
      const lookup = await directory.find(token, clock())
      return 'key' in lookup ? callerOf(lookup.key, token) : undefined
    },
    headersFor: (address) => {
      const now = clock()
      return rateHeaders(limiter.lookAtAddress(addressGroup(address), addressLimits, now).windows, now)
    },
    isKnownOrigin: (origin) => directory.isKnownOrigin(origin),
  }
}

const bearerToken = (authorization: string | undefined): string | undefined =>
  /^Bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1]

const callerOf = ({ id, scopes, origins }: KnownKey, token: string) => ({ keyId: id, token, scopes, origins })

const headersOf = ({ outcome, windows, bannedUntil }: Decision, now: number) =>
  outcome === 'banned' ? bannedHeaders(windows, bannedUntil, now) : rateHeaders(windows, now)

function refusalOf({ outcome, windows, bannedUntil }: Decision, now: number): ApiError | undefined {
  if (outcome === 'admitted') return undefined
  const until = outcome === 'banned' ? bannedUntil : tightest(windows).resetsAt
  const seconds = retryAfter(until, now)
  return new ApiError(
    outcome === 'banned' ? 'key_banned' : 'rate_limit_exceeded',
    outcome === 'banned'
      ? `This API key is banned for ${seconds} seconds, because it kept on after being refused: wait, then retry.`
      : `The rate limit is used up: wait ${seconds} seconds, then retry.`,
    { headers: { 'Retry-After': seconds } },
  )
}
