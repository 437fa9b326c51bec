import type { Limits } from './plans.ts'

/**
 * The arithmetic of rate limits: pure functions over the usage of one key or address. A window opens with the first
 * admitted request after the previous window ended. A request is admitted only if both windows have requests left, and
 * it then consumes one from both.
 */

/** For callers without a valid key, by client address. */
export const addressLimits: Limits = { perMinute: 100, perDay: 10_000 }

/** For rate limit exempt requests, by key. The day limit is never reached before the minute limit. */
export const exemptLimits: Limits = { perMinute: 60, perDay: 60 * 24 * 60 }

export const minuteMs = 60_000
export const dayMs = 86_400_000

/** The usage of a key or address without requests. */
export const emptyUsage = {
  minuteEndsAt: 0,
  minuteUsed: 0,
  dayEndsAt: 0,
  dayUsed: 0,
  /** Rejections inside the window that ends at `rejectionsUntil`. */
  rejections: 0,
  rejectionsUntil: 0,
  bannedAt: 0,
  bannedUntil: 0,
  /** The number of earlier bans that had less than 24 hours between one another and the last one. */
  banLevel: 0,
}
export type Usage = Readonly<typeof emptyUsage>

export type Window = {
  readonly limit: number
  readonly remaining: number
  readonly resetsAt: number
  readonly isOpen: boolean
}
export type Windows = { readonly minute: Window; readonly day: Window }

/** What counting needs to know about an API key. */
export type LimitedKey = {
  readonly limits: Limits
  readonly origins: readonly string[]
  readonly unbannedAt: number
}

/** A key with origins is publishable. It is never banned, because it is public. */
const isPublishable = ({ origins }: Pick<LimitedKey, 'origins'>): boolean => origins.length > 0

export type Decision = {
  readonly outcome: 'admitted' | 'limited' | 'banned'
  readonly windows: Windows
  /** 0 unless the outcome is `banned`. */
  readonly bannedUntil: number
  readonly isNewBan: boolean
}

const banMs = 5 * minuteMs
const banMaxMs = dayMs
/** A ban that starts within this time after the end of the last one is twice as long. */
const banMemoryMs = dayMs

/**
 * Brings usage up to this time. If the clock was set back, a window or ban that starts in the future starts now, so it
 * never lasts longer than intended. Store the result: otherwise the end moves with the clock.
 */
export function advance(usage: Usage, now: number): Usage {
  const minuteEndsAt = Math.min(usage.minuteEndsAt, now + minuteMs)
  const dayEndsAt = Math.min(usage.dayEndsAt, now + dayMs)
  const aheadMs = Math.max(0, usage.bannedAt - now)
  if (minuteEndsAt === usage.minuteEndsAt && dayEndsAt === usage.dayEndsAt && aheadMs === 0) return usage
  const bannedAt = usage.bannedAt - aheadMs
  return { ...usage, minuteEndsAt, dayEndsAt, bannedAt, bannedUntil: usage.bannedUntil - aheadMs }
}

/** Both windows of advanced usage. */
export function currentWindows(usage: Usage, limits: Limits, now: number): Windows {
  return {
    minute: windowOf(usage.minuteEndsAt, usage.minuteUsed, limits.perMinute, minuteMs, now),
    day: windowOf(usage.dayEndsAt, usage.dayUsed, limits.perDay, dayMs, now),
  }
}

/** The decision on a request, with the usage after it. */
export function toDecision(
  usage: Usage,
  limits: Limits,
  now: number,
  outcome: Decision['outcome'],
  isNewBan = false,
): Decision {
  const bannedUntil = outcome === 'banned' ? usage.bannedUntil : 0
  return { outcome, windows: currentWindows(usage, limits, now), bannedUntil, isNewBan }
}

/** Counts one request of a key. */
export function countRequest(
  before: Usage,
  key: LimitedKey,
  now: number,
  banAfterRejections: number,
): { usage: Usage; decision: Decision } {
  const { limits } = key
  const usage = advance(clearBan(before, key.unbannedAt), now)
  const isBannable = !isPublishable(key)
  if (isBannable && isBanned(usage, now)) return { usage, decision: toDecision(usage, limits, now, 'banned') }
  const consumed = consume(usage, limits, now)
  if (consumed) return { usage: consumed, decision: toDecision(consumed, limits, now, 'admitted') }
  if (!isBannable) return { usage, decision: toDecision(usage, limits, now, 'limited') }
  const rejected = recordRejection(usage, limits, now, banAfterRejections)
  const isNewBan = isBanned(rejected, now)
  const outcome = isNewBan ? 'banned' : 'limited'
  return { usage: rejected, decision: toDecision(rejected, limits, now, outcome, isNewBan) }
}

/** The windows and the ban of a key. */
export function peekKey(before: Usage, key: LimitedKey, now: number): Decision {
  const usage = advance(clearBan(before, key.unbannedAt), now)
  const outcome = isBanned(usage, now) && !isPublishable(key) ? 'banned' : 'admitted'
  return toDecision(usage, key.limits, now, outcome)
}

/** The window with the fewest requests left, and on a tie the one that resets later. */
export function mostRestrictive({ minute, day }: Windows): Window {
  if (minute.remaining !== day.remaining) return minute.remaining < day.remaining ? minute : day
  return minute.resetsAt > day.resetsAt ? minute : day
}

export const isBanned = (usage: Usage, now: number): boolean => now < usage.bannedUntil

/** Consumes one request from both windows. Returns undefined if one of them has none left. */
export function consume(usage: Usage, limits: Limits, now: number): Usage | undefined {
  const { minute, day } = currentWindows(usage, limits, now)
  if (minute.remaining === 0 || day.remaining === 0) return undefined
  return {
    ...usage,
    minuteEndsAt: minute.resetsAt,
    minuteUsed: (minute.isOpen ? usage.minuteUsed : 0) + 1,
    dayEndsAt: day.resetsAt,
    dayUsed: (day.isOpen ? usage.dayUsed : 0) + 1,
  }
}

/** Records a rejection. The last one that a window allows starts a ban. */
function recordRejection(usage: Usage, limits: Limits, now: number, banAfterRejections: number): Usage {
  const { resetsAt } = mostRestrictive(currentWindows(usage, limits, now))
  const rejections = (usage.rejectionsUntil === resetsAt ? usage.rejections : 0) + 1
  if (rejections < banAfterRejections) return { ...usage, rejections, rejectionsUntil: resetsAt }
  const isRepeated = usage.bannedUntil > 0 && now < usage.bannedUntil + banMemoryMs
  const banLevel = isRepeated ? usage.banLevel + 1 : 0
  const bannedUntil = now + Math.min(banMs * 2 ** banLevel, banMaxMs)
  return { ...usage, rejections: 0, rejectionsUntil: 0, bannedAt: now, bannedUntil, banLevel }
}

/** Removes a ban that the operator has lifted, as if it had never started. */
const clearBan = (usage: Usage, unbannedAt: number): Usage =>
  usage.bannedAt > 0 && usage.bannedAt <= unbannedAt
    ? { ...usage, bannedAt: 0, bannedUntil: 0, banLevel: 0 }
    : usage

function windowOf(endsAt: number, used: number, limit: number, lengthMs: number, now: number): Window {
  if (now >= endsAt) return { limit, remaining: limit, resetsAt: now + lengthMs, isOpen: false }
  return { limit, remaining: Math.max(0, limit - used), resetsAt: endsAt, isOpen: true }
}
