import type { MaybePromise } from '../maybePromise.ts'
import type { ApiError } from './errors.ts'
import type { Principal } from './operation.ts'
import type { RateLimitHeaders } from './response.ts'

export type Credentials = {
  readonly authorization: string | undefined
  readonly address: string
  /** The `Origin` header: a publishable key is valid only with one of its own. */
  readonly origin?: string | undefined
  /** Takes nothing from a key's windows. */
  readonly rateLimitExempt: boolean
}

export type AuthResult = {
  /** Known whenever the key is valid, also when the request is refused for its rate. */
  readonly principal?: Principal
  readonly error?: ApiError
  /** How the windows stand, which every answer says. */
  readonly rateLimitHeaders: RateLimitHeaders
  /** Which state of the store was found, where that is known: whatever is read from now on is not older. */
  readonly storeVersion?: number | undefined
}

/** Says who comes in. The pipeline knows neither keys nor windows: both are behind this. */
export type Authenticator = {
  /** Authenticates, the origin of a publishable key included, and takes one from the windows of the key or of the address. */
  authenticate(visit: Credentials): AuthResult | Promise<AuthResult>
  /** Who has the token of a caller that was admitted so long ago: a key may change while its request is coming in. */
  reauthenticate(admitted: Principal, agoMs: number): MaybePromise<Principal | undefined>
  /** How the windows of an address stand, with nothing taken. */
  rateLimitHeadersFor(address: string): RateLimitHeaders
  /** Whether any key is locked to this origin. */
  isKnownOrigin(origin: string): Promise<boolean>
}
