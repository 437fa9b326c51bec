import type { Authenticator, AuthResult, Credentials } from '../api/authentication.ts'
import { ApiError, apiErrors } from '../api/errors.ts'
import type { Principal } from '../api/operation.ts'
import { rateLimitHeaders, retryAfterSeconds } from '../limits/headers.ts'
import type { RateLimiter } from '../limits/rateLimiter.ts'
import { type Decision, exemptLimits, mostRestrictive } from '../limits/window.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import type { ApiKey, ApiKeyCache } from './apiKeyCache.ts'
import type { KeyResult, KeyStore } from './keyStore.ts'

/** A principal with its key and rate limit. Every principal that an operation receives is one. */
export type AuthenticatedPrincipal = Principal & { readonly key: ApiKey; readonly decision: Decision }

export type AuthenticatorOptions = {
  readonly keys: KeyStore
  readonly cache: ApiKeyCache
  readonly limiter: RateLimiter
  /** Requests wait for it: before the first start is complete, a valid key may not be in the database yet. */
  whenStarted(): MaybePromise<void>
  onBan(keyId: number, untilMs: number): void
}

/** A body that arrives within this time arrived together with its headers. */
const recentMs = 1

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { keys, cache, limiter, whenStarted, onBan } = options

  function authenticate(credentials: Credentials): MaybePromise<AuthResult> {
    const token = bearerToken(credentials.authorization)
    const result = chain(whenStarted(), () => keys.consume(token, credentials))
    return chain(result, (counted) => authResult(token, counted, credentials.rateLimitExempt))
  }

  function authResult(token: string | undefined, result: KeyResult, isExempt: boolean): AuthResult {
    const { now, key, decision, addressDecision, databaseVersion } = result
    if (key && decision?.isNewBan) onBan(key.id, decision.bannedUntil)
    const keyError = decision || result.isKeyUnchecked ? undefined : keyErrorOf(token, key, now)
    const isKeyValid = key && keyError?.code !== apiErrors.invalid_api_key.code
    const principal = isKeyValid && token !== undefined ? toPrincipal(token, key, decision) : undefined
    if (addressDecision && (keyError || addressDecision.outcome !== 'admitted')) {
      return {
        ...(principal && { principal }),
        error: addressErrorOf(addressDecision, keyError, now),
        rateLimitHeaders: rateLimitHeaders(addressDecision.windows, now),
      }
    }
    if (!principal || !decision) throw new Error('Invariant violated: a request was not rate limited.')
    const error = isExempt ? undefined : rateLimitErrorOf(decision, now)
    return {
      principal,
      ...(error && { error }),
      rateLimitHeaders: rateLimitHeaders(decision.windows, now, decision.bannedUntil),
      databaseVersion,
    }
  }

  function keyErrorOf(token: string | undefined, key: ApiKey | undefined, now: number): ApiError {
    if (token === undefined) return new ApiError(apiErrors.missing_api_key)
    const problem = cache.rejectionReason(key, now)
    return problem === undefined
      ? new ApiError(apiErrors.origin_not_allowed)
      : new ApiError(apiErrors.invalid_api_key, problem)
  }

  return {
    authenticate,
    reauthenticate: (principal, agoMs) =>
      agoMs < recentMs
        ? principal
        : chain(
            keys.find(principal.token),
            (key) => key && { ...principal, key, scopes: key.scopes, origins: key.origins },
          ),
    rateLimitHeadersFor(address) {
      const { windows, now } = limiter.peekAddress(address)
      return rateLimitHeaders(windows, now)
    },
    isKnownOrigin: (origin) => cache.isKnownOrigin(origin),
  }
}

const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : /^Bearer +([^\s]+) *$/i.exec(authorization)?.[1]

function toPrincipal(token: string, key: ApiKey, decision: Decision | undefined) {
  const { id: keyId, scopes, origins } = key
  return { keyId, token, scopes, origins, key, decision }
}

/** The error of a request that was counted for its address. It names the problem of the key, because waiting does not solve it. */
function addressErrorOf(decision: Decision, keyError: ApiError | undefined, now: number): ApiError {
  const limited = rateLimitErrorOf(decision, now)
  if (!limited) return keyError as ApiError
  const reason = keyError
    ? `Requests that cannot be authenticated count for your address. ${keyError.message}`
    : `GET /limits counts for your address beyond ${exemptLimits.perMinute} requests a minute, and while the key is banned.`
  return new ApiError(apiErrors.rate_limit_exceeded, `${limited.message} ${reason}`, {
    headers: limited.headers,
  })
}

function rateLimitErrorOf({ outcome, windows, bannedUntil }: Decision, now: number): ApiError | undefined {
  if (outcome === 'admitted') return undefined
  const isBanned = outcome === 'banned'
  const seconds = retryAfterSeconds(isBanned ? bannedUntil : mostRestrictive(windows).resetsAt, now)
  const reason = isBanned
    ? 'This API key is temporarily banned for repeatedly exceeding its rate limit.'
    : 'The rate limit is exceeded.'
  return new ApiError(
    isBanned ? apiErrors.key_banned : apiErrors.rate_limit_exceeded,
    `${reason} Retry after ${seconds} seconds.`,
    { headers: { 'Retry-After': seconds } },
  )
}
