import type { Clock } from '../clock.ts'
import type { KeyDirectory } from '../keys/directory.ts'
import type { Gate, Verdict, Visitor } from './gate.ts'
import type { MemoryLimiter } from './memory.ts'
import { addressLimits } from './window.ts'

/** Keys from the directory and windows in memory: for a store that one instance has to itself. */
export function memoryGate(directory: KeyDirectory, limiter: MemoryLimiter, clock: Clock): Gate {
  const pay = (address: string, now: number) => limiter.admitAddress(address, addressLimits, now)

  return {
    async admit({ token, address, isFree }: Visitor): Promise<Verdict> {
      const lookup = token === undefined ? undefined : await directory.find(token, clock())
      const now = clock()
      if (!lookup || 'problem' in lookup) return { now, ...lookup, address: pay(address, now) }
      const { key } = lookup
      const count = isFree ? limiter.lookAtKey : limiter.admitKey
      const decision = await count.call(limiter, key.id, key.limits, key.unbannedAt, now)
      const isOnAddress = isFree && decision.outcome === 'banned'
      return { now, known: { key, decision }, ...(isOnAddress && { address: pay(address, now) }) }
    },
    async look(token): Promise<Verdict> {
      const now = clock()
      const lookup = await directory.find(token, now)
      if ('problem' in lookup) return { now, ...lookup }
      const { key } = lookup
      return {
        now,
        known: { key, decision: await limiter.lookAtKey(key.id, key.limits, key.unbannedAt, now) },
      }
    },
    // Looking costs nothing here.
    isCurrent: () => false,
    lookAtAddress(address) {
      const now = clock()
      return { now, windows: limiter.lookAtAddress(address, addressLimits, now).windows }
    },
    flush: () => limiter.flush(),
    async sweep() {},
    forgetKeys: () => limiter.forgetKeys(),
  }
}
