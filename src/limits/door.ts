import type { Admission, Door, Visit } from '../http/door.ts'
import { ApiError } from '../http/errors.ts'
import type { KeyDirectory, KnownKey } from '../keys/directory.ts'
import { andThen } from '../soon.ts'
import type { Decision, Gate, Verdict } from './gate.ts'
import { ratesOf, ratesOfBanned, retryAfter } from './headers.ts'
import { tightest } from './window.ts'

export type DoorOptions = {
  readonly gate: Gate
  readonly directory: KeyDirectory
  onBan(keyId: number, untilMs: number): void
}

/** Keys and windows together: who is at the door, and whether there is room. */
export function createDoor({ gate, directory, onBan }: DoorOptions): Door {
  function admit({ authorization, address, isFree }: Visit): Admission | Promise<Admission> {
    const token = bearerToken(authorization)
    const verdict = gate.admit({ token, address, isFree })
    return andThen(verdict, (reached) => admissionOf(reached, token, isFree))
  }

  function admissionOf(verdict: Verdict, token: string | undefined, isFree: boolean): Admission {
    if (!verdict.known || token === undefined) return refuseStranger(verdict)
    const { now, known, address: paid, storeVersion } = verdict
    const { key, decision } = known
    if (decision.isNewBan) onBan(key.id, decision.bannedUntil)
    // Free of charge; but somebody pays for a banned key's look at its limits, and that is its address.
    const unpaid = paid && refusalOf(paid, now)
    if (paid && unpaid) return { refusal: unpaid, rates: ratesOf(paid.windows, now) }
    const refusal = isFree ? undefined : refusalOf(decision, now)
    const admission = { caller: callerOf(key, token), rates: ratesAfter(decision, now), storeVersion }
    return refusal ? { ...admission, refusal } : admission
  }

  return {
    admit,
    recall: (admitted, agoMs) =>
      gate.isCurrent(agoMs)
        ? admitted
        : andThen(gate.look(admitted.token), ({ known }) => known && callerOf(known.key, admitted.token)),
    ratesFor: (address) => {
      const { windows, now } = gate.lookAtAddress(address)
      return ratesOf(windows, now)
    },
    isKnownOrigin: (origin) => directory.isKnownOrigin(origin),
  }
}

function refuseStranger({ now, problem, address }: Verdict): Admission {
  const refusal = new ApiError(problem === undefined ? 'missing_api_key' : 'invalid_api_key', problem)
  if (!address) throw new Error('Nobody counted a stranger.')
  const rates = ratesOf(address.windows, now)
  const limited = refusalOf(address, now)
  if (!limited) return { refusal, rates }
  // Waiting alone will not help: what was wrong with the key still is.
  const message = `${limited.message} Requests without a valid key count for your address. ${refusal.message}`
  return { refusal: new ApiError('rate_limit_exceeded', message, { headers: limited.headers }), rates }
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

const callerOf = ({ id, scopes, origins }: KnownKey, token: string) => ({ keyId: id, token, scopes, origins })

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
