import type { Clock } from '../clock.ts'
import { addressGroup } from '../http/address.ts'
import type { KeyDirectory, KnownKey } from '../keys/directory.ts'
import { andThen } from '../soon.ts'
import type { Decision, Gate, Verdict, Visitor } from './gate.ts'
import type { MemoryLimiter } from './memory.ts'
import { addressLimits } from './window.ts'

/** Keys from the directory and windows in memory: for a store that one instance has to itself. */
export function memoryGate(directory: KeyDirectory, limiter: MemoryLimiter, clock: Clock): Gate {
  const pay = (address: string, now: number) =>
    limiter.admitAddress(addressGroup(address), addressLimits, now)

  function count(key: KnownKey, { address, isFree }: Visitor): Verdict | Promise<Verdict> {
    const now = clock()
    const { id, limits, unbannedAt } = key
    const decided = isFree
      ? limiter.lookAtKey(id, limits, unbannedAt, now)
      : limiter.admitKey(id, limits, unbannedAt, now)
    const verdict = (decision: Decision): Verdict => {
      const known = { key, decision }
      const isOnAddress = isFree && decision.outcome === 'banned'
      return isOnAddress ? { now, known, address: pay(address, now) } : { now, known }
    }
    return andThen(decided, verdict)
  }

  async function admitUnknown(visitor: Visitor): Promise<Verdict> {
    const { token, address } = visitor
    const lookup = token === undefined ? undefined : await directory.find(token, clock())
    const now = clock()
    if (!lookup || 'problem' in lookup) return { now, ...lookup, address: pay(address, now) }
    return count(lookup.key, visitor)
  }

  return {
    admit(visitor) {
      const key = visitor.token === undefined ? undefined : directory.known(visitor.token, clock())
      return key ? count(key, visitor) : admitUnknown(visitor)
    },
    look(token) {
      const now = clock()
      const lookAt = (key: KnownKey) =>
        andThen(
          limiter.lookAtKey(key.id, key.limits, key.unbannedAt, now),
          (decision): Verdict => ({ now, known: { key, decision } }),
        )
      const known = directory.known(token, now)
      if (known) return lookAt(known)
      return directory
        .find(token, now)
        .then((lookup) => ('problem' in lookup ? { now, ...lookup } : lookAt(lookup.key)))
    },
    // Looking costs nothing here.
    isCurrent: () => false,
    lookAtAddress(address) {
      const now = clock()
      return { now, windows: limiter.lookAtAddress(addressGroup(address), addressLimits, now).windows }
    },
    flush: () => limiter.flush(),
    async sweep() {},
    forgetKeys: () => limiter.forgetKeys(),
  }
}
