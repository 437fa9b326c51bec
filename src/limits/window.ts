import type { Limits } from './plans.ts'

/**
 * The arithmetic of rate limits: pure functions over the state of one key or address. A window opens with the first
 * admitted request after the previous window ended. A request is admitted only if both windows have requests left, and
 * it then consumes one from both.
 */

/** For callers without a valid key, by client address. */
export const addressLimits: Limits = { perMinute: 100, perDay: 10_000 }

/** For rate limit exempt requests, by key. The day limit is never reached before the minute limit. */
export const exemptLimits: Limits = { perMinute: 60, perDay: 60 * 24 * 60 }

export const minuteMs = 60_000
export const dayMs = 86_400_000

/** The state of a key or address without requests. The names are those of the columns. */
export const emptyLimitState = {
  minute_ends_at: 0,
  minute_used: 0,
  day_ends_at: 0,
  day_used: 0,
  /** Rejections inside the window that ends at `rejections_until`. */
  rejections: 0,
  rejections_until: 0,
  banned_at: 0,
  banned_until: 0,
  /** The number of earlier bans that had less than 24 hours between one another and the last one. */
  ban_level: 0,
}
export type LimitState = Readonly<typeof emptyLimitState>

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
 * Brings state up to this time. If the clock was set back, a window or ban that starts in the future starts now, so it
 * never lasts longer than intended. Store the result: otherwise the end moves with the clock.
 */
export function advance(state: LimitState, now: number): LimitState {
  const minute_ends_at = Math.min(state.minute_ends_at, now + minuteMs)
  const day_ends_at = Math.min(state.day_ends_at, now + dayMs)
  const aheadMs = Math.max(0, state.banned_at - now)
  if (minute_ends_at === state.minute_ends_at && day_ends_at === state.day_ends_at && aheadMs === 0)
    return state
  const banned_at = state.banned_at - aheadMs
  return { ...state, minute_ends_at, day_ends_at, banned_at, banned_until: state.banned_until - aheadMs }
}

/** Both windows of advanced state. */
export function currentWindows(state: LimitState, limits: Limits, now: number): Windows {
  return {
    minute: windowOf(state.minute_ends_at, state.minute_used, limits.perMinute, minuteMs, now),
    day: windowOf(state.day_ends_at, state.day_used, limits.perDay, dayMs, now),
  }
}

/** The decision on a request, with the state after it. */
export function toDecision(
  state: LimitState,
  limits: Limits,
  now: number,
  outcome: Decision['outcome'],
  isNewBan = false,
): Decision {
  const bannedUntil = outcome === 'banned' ? state.banned_until : 0
  return { outcome, windows: currentWindows(state, limits, now), bannedUntil, isNewBan }
}

/** Counts one request of a key. */
export function countRequest(before: LimitState, key: LimitedKey, now: number, banAfterRejections: number) {
  const { limits } = key
  const state = advance(clearBan(before, key.unbannedAt), now)
  const isBannable = !isPublishable(key)
  if (isBannable && isBanned(state, now)) return { state, decision: toDecision(state, limits, now, 'banned') }
  const consumed = consume(state, limits, now)
  if (consumed) return { state: consumed, decision: toDecision(consumed, limits, now, 'admitted') }
  if (!isBannable) return { state, decision: toDecision(state, limits, now, 'limited') }
  const rejected = recordRejection(state, limits, now, banAfterRejections)
  const isNewBan = isBanned(rejected, now)
  const outcome = isNewBan ? 'banned' : 'limited'
  return { state: rejected, decision: toDecision(rejected, limits, now, outcome, isNewBan) }
}

/** The windows and the ban of a key. */
export function peekKey(before: LimitState, key: LimitedKey, now: number): Decision {
  const state = advance(clearBan(before, key.unbannedAt), now)
  const outcome = isBanned(state, now) && !isPublishable(key) ? 'banned' : 'admitted'
  return toDecision(state, key.limits, now, outcome)
}

/** The window with the fewest requests left, and on a tie the one that resets later. */
export function mostRestrictive({ minute, day }: Windows): Window {
  if (minute.remaining !== day.remaining) return minute.remaining < day.remaining ? minute : day
  return minute.resetsAt > day.resetsAt ? minute : day
}

export const isBanned = (state: LimitState, now: number): boolean => now < state.banned_until

/** Consumes one request from both windows. Returns undefined if one of them has none left. */
export function consume(state: LimitState, limits: Limits, now: number): LimitState | undefined {
  const { minute, day } = currentWindows(state, limits, now)
  if (minute.remaining === 0 || day.remaining === 0) return undefined
  return {
    ...state,
    minute_ends_at: minute.resetsAt,
    minute_used: (minute.isOpen ? state.minute_used : 0) + 1,
    day_ends_at: day.resetsAt,
    day_used: (day.isOpen ? state.day_used : 0) + 1,
  }
}

/** Records a rejection. The last one that a window allows starts a ban. */
function recordRejection(state: LimitState, limits: Limits, now: number, banAfterRejections: number) {
  const { resetsAt } = mostRestrictive(currentWindows(state, limits, now))
  const rejections = (state.rejections_until === resetsAt ? state.rejections : 0) + 1
  if (rejections < banAfterRejections) return { ...state, rejections, rejections_until: resetsAt }
  const isRepeated = state.banned_until > 0 && now < state.banned_until + banMemoryMs
  const ban_level = isRepeated ? state.ban_level + 1 : 0
  const banned_until = now + Math.min(banMs * 2 ** ban_level, banMaxMs)
  return { ...state, rejections: 0, rejections_until: 0, banned_at: now, banned_until, ban_level }
}

/** Removes a ban that the operator has lifted, as if it had never started. */
const clearBan = (state: LimitState, unbannedAt: number): LimitState =>
  state.banned_at > 0 && state.banned_at <= unbannedAt
    ? { ...state, banned_at: 0, banned_until: 0, ban_level: 0 }
    : state

function windowOf(endsAt: number, used: number, limit: number, lengthMs: number, now: number): Window {
  if (now >= endsAt) return { limit, remaining: limit, resetsAt: now + lengthMs, isOpen: false }
  return { limit, remaining: Math.max(0, limit - used), resetsAt: endsAt, isOpen: true }
}
