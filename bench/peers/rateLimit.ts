/** Fixed windows of a minute and a day per key, counted in memory. */
import type { Key } from './pets.ts'

const minuteMs = 60_000
const dayMs = 86_400_000

type Counts = { minute: number; minuteCount: number; day: number; dayCount: number }
type RateLimitResult = { isAllowed: boolean; limit: number; remaining: number; resetSeconds: number }

export function createRateLimiter() {
  const countsByKey = new Map<number, Counts>()
  return ({ id, perMinute, perDay }: Key): RateLimitResult => {
    const now = Date.now()
    const minute = Math.floor(now / minuteMs)
    const day = Math.floor(now / dayMs)
    let counts = countsByKey.get(id)
    if (!counts) {
      counts = { minute, minuteCount: 0, day, dayCount: 0 }
      countsByKey.set(id, counts)
    }
    if (counts.minute !== minute) Object.assign(counts, { minute, minuteCount: 0 })
    if (counts.day !== day) Object.assign(counts, { day, dayCount: 0 })
    counts.minuteCount++
    counts.dayCount++
    return {
      isAllowed: counts.minuteCount <= perMinute && counts.dayCount <= perDay,
      limit: perMinute,
      remaining: Math.max(0, Math.min(perMinute - counts.minuteCount, perDay - counts.dayCount)),
      resetSeconds: ((minute + 1) * minuteMs) / 1000,
    }
  }
}
