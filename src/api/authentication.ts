import type { Soon } from '../maybePromise.ts'
import type { ApiError } from './errors.ts'
import type { Caller } from './operation.ts'
import type { Rates } from './callerHeaders.ts'

export type Visit = {
  readonly authorization: string | undefined
  readonly address: string
  /** The `Origin` header: a publishable key is valid only with one of its own. */
  readonly origin?: string | undefined
  /** Takes nothing from a key's windows. */
  readonly isFree: boolean
}

export type Admission = {
  /** Known whenever the key is valid, also when the request is refused for its rate. */
  readonly caller?: Caller
  readonly refusal?: ApiError
  /** How the windows stand, which every answer says. */
  readonly rates: Rates
  /** Which state of the store was found, where that is known: whatever is read from now on is not older. */
  readonly storeVersion?: number | undefined
}

/** Says who comes in. The pipeline knows neither keys nor windows: both are behind this. */
export type Door = {
  /** Authenticates, the origin of a publishable key included, and takes one from the windows of the key or of the address. */
  admit(visit: Visit): Admission | Promise<Admission>
  /** Who has the token of a caller that was admitted so long ago: a key may change while its request is coming in. */
  recall(admitted: Caller, agoMs: number): Soon<Caller | undefined>
  /** How the windows of an address stand, with nothing taken. */
  ratesFor(address: string): Rates
  /** Whether any key is locked to this origin. */
  isKnownOrigin(origin: string): Promise<boolean>
}
