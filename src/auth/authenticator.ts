import type { Authenticator, AuthResult, Credentials } from '../api/authentication.ts'
import { ApiError } from '../api/errors.ts'
import type { Principal } from '../api/operation.ts'
import { ratesOf, ratesOfBanned, retryAfter } from '../limits/headers.ts'
import type { Decision, RateLimiter, RateLimitResult } from '../limits/rateLimiter.ts'
import { freeLimits, tightest } from '../limits/window.ts'
import { chain } from '../maybePromise.ts'
import type { ApiKeyCache, ApiKeyRecord } from './apiKeyCache.ts'

type DoorOptions = {
  readonly gate: RateLimiter
  readonly directory: ApiKeyCache
  onBan(keyId: number, untilMs: number): void
}

/** Keys and windows together: who is at the door, and whether there is room. */
export function createAuthenticator({ gate, directory, onBan }: DoorOptions): Authenticator {
  function admit({
    authorization,
    address,
    origin,
    rateLimitExempt: isFree,
  }: Credentials): AuthResult | Promise<AuthResult> {
    const token = bearerToken(authorization)
    const verdict = gate.consume({ token, address, origin, rateLimitExempt: isFree })
    return chain(verdict, (reached) => admissionOf(reached, token, isFree))
  }

  function admissionOf(verdict: RateLimitResult, token: string | undefined, isFree: boolean): AuthResult {
    const { now, known, address, storeVersion } = verdict
    if (known?.decision.isNewBan) onBan(known.key.id, known.decision.bannedUntil)
    const refusedOnAddress = address && refusalOnAddress(verdict, address)
    if (refusedOnAddress) return { ...refusedOnAddress, ...callerIn(verdict, token) }
    if (!known || token === undefined) throw new Error('Invariant violated: a request was not counted.')
    const { decision } = known
    const refusal = isFree ? undefined : refusalOf(decision, now)
    const admission = {
      principal: admittedCaller(known, token),
      rateLimitHeaders: ratesAfter(decision, now),
      storeVersion,
    }
    return refusal ? { ...admission, error: refusal } : admission
  }

  return {
    authenticate: admit,
    reauthenticate: (admitted, agoMs) =>
      gate.isCurrent(agoMs)
        ? admitted
        : chain(gate.peek(admitted.token), ({ known }) => known && admittedCaller(known, admitted.token)),
    rateLimitHeadersFor: (address) => {
      const { windows, now } = gate.peekAddress(address)
      return ratesOf(windows, now)
    },
    isKnownOrigin: (origin) => directory.isKnownOrigin(origin),
  }
}

/** A caller with what was found when it was admitted. Every caller that an operation is given is one. */
export type AdmittedCaller = Principal & { readonly key: ApiKeyRecord; readonly decision: Decision }

/** The refusal of a request that its address pays for, if it is refused: for what is wrong with it, or for its rate. */
function refusalOnAddress({ now, problem }: RateLimitResult, address: Decision): AuthResult | undefined {
  const rates = ratesOf(address.windows, now)
  const limited = refusalOf(address, now)
  if (!limited) return problem && { error: problem, rateLimitHeaders: rates }
  // Waiting alone does not help where something is wrong with the key or its origin.
  const reason = problem
    ? `Requests that cannot be authenticated count for your address. ${problem.message}`
    : `GET /limits counts for your address beyond ${freeLimits.perMinute} a minute, and while the key is banned.`
  const message = `${limited.message} ${reason}`
  return {
    error: new ApiError('rate_limit_exceeded', message, { headers: limited.headers }),
    rateLimitHeaders: rates,
  }
}

/** The caller to log for a rejected request. */
function callerIn(
  { known, wrongOriginKey }: RateLimitResult,
  token: string | undefined,
): Pick<AuthResult, 'principal'> {
  const key = known?.key ?? wrongOriginKey
  return key && token !== undefined ? { principal: callerOf(key, token) } : {}
}

let lastAuthorization: string | undefined
let lastToken: string | undefined

/** Often that of the last request, and comparing takes less than taking apart. */
function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization !== lastAuthorization) {
    lastAuthorization = authorization
    lastToken = authorization === undefined ? undefined : /^Bearer +([^\s]+) *$/i.exec(authorization)?.[1]
  }
  return lastToken
}

const callerOf = ({ id, scopes, origins }: ApiKeyRecord, token: string): Principal => ({
  keyId: id,
  token,
  scopes,
  origins,
})

const admittedCaller = (
  { key, decision }: NonNullable<RateLimitResult['known']>,
  token: string,
): AdmittedCaller => ({
  ...callerOf(key, token),
  key,
  decision,
})

const ratesAfter = ({ outcome, windows, bannedUntil }: Decision, now: number) =>
  outcome === 'banned' ? ratesOfBanned(windows, bannedUntil, now) : ratesOf(windows, now)

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
