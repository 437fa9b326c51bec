import type { Limits } from '../keys/plans.ts'

/**
 * The arithmetic of limits: pure functions over one subject's usage. A window opens with the first admitted request
 * after the last one ended; a request is admitted only if both windows have room, and then takes one from both.
 */

/** For callers without a valid key, by their address. */
export const addressLimits: Limits = { perMinute: 100, perDay: 10_000 }

/** `GET /limits` without charge, by key. The daily limit never binds before the minute limit. */
export const freeLimits: Limits = { perMinute: 60, perDay: 60 * 24 * 60 }

export const minuteMs = 60_000
export const dayMs = 86_400_000

export type Usage = {
  readonly minuteEndsAt: number
  readonly minuteUsed: number
  readonly dayEndsAt: number
  readonly dayUsed: number
  /** Refusals inside the window that ends at `refusalsUntil`. */
  readonly refusals: number
  readonly refusalsUntil: number
  readonly bannedAt: number
  readonly bannedUntil: number
  /** How many bans came before the last one without 24 quiet hours between. */
  readonly banLevel: number
}

export const noUsage: Usage = {
  minuteEndsAt: 0,
  minuteUsed: 0,
  dayEndsAt: 0,
  dayUsed: 0,
  refusals: 0,
  refusalsUntil: 0,
  bannedAt: 0,
  bannedUntil: 0,
  banLevel: 0,
}

export type Window = {
  readonly limit: number
  readonly remaining: number
  readonly resetsAt: number
  readonly isOpen: boolean
}
export type Windows = { readonly minute: Window; readonly day: Window }

const banMs = 5 * minuteMs
const banMaxMs = dayMs
/** A ban within this time of the last one's end is twice as long. */
const banMemoryMs = dayMs

/**
 * Usage as it holds at this moment. A clock that was set back must hold nothing for longer than it was meant to last:
 * what would have begun later than now begins now. The result is to be kept, or the end would move on with the clock.
 */
export function advance(usage: Usage, now: number): Usage {
  const minuteEndsAt = Math.min(usage.minuteEndsAt, now + minuteMs)
  const dayEndsAt = Math.min(usage.dayEndsAt, now + dayMs)
  const aheadMs = Math.max(0, usage.bannedAt - now)
  if (minuteEndsAt === usage.minuteEndsAt && dayEndsAt === usage.dayEndsAt && aheadMs === 0) return usage
  const bannedAt = usage.bannedAt - aheadMs
  return { ...usage, minuteEndsAt, dayEndsAt, bannedAt, bannedUntil: usage.bannedUntil - aheadMs }
}

/** Both windows of settled usage as they stand, with nothing taken. */
export function windowsOf(usage: Usage, limits: Limits, now: number): Windows {
  return {
    minute: windowOf(usage.minuteEndsAt, usage.minuteUsed, limits.perMinute, minuteMs, now),
    day: windowOf(usage.dayEndsAt, usage.dayUsed, limits.perDay, dayMs, now),
  }
}

/** The window that runs out first: fewest left, and on a tie the one that resets later. */
export function tightest({ minute, day }: Windows): Window {
  if (minute.remaining !== day.remaining) return minute.remaining < day.remaining ? minute : day
  return minute.resetsAt > day.resetsAt ? minute : day
}

export const isBanned = (usage: Usage, now: number): boolean => now < usage.bannedUntil

/** Takes one from both windows, or returns nothing where one of them has no room. */
export function consume(usage: Usage, limits: Limits, now: number): Usage | undefined {
  const { minute, day } = windowsOf(usage, limits, now)
  if (minute.remaining === 0 || day.remaining === 0) return undefined
  return {
    ...usage,
    minuteEndsAt: minute.resetsAt,
    minuteUsed: (minute.isOpen ? usage.minuteUsed : 0) + 1,
    dayEndsAt: day.resetsAt,
    dayUsed: (day.isOpen ? usage.dayUsed : 0) + 1,
  }
}

/** Notes a refusal; the last one that a window bears brings a ban. */
export function refuse(usage: Usage, limits: Limits, now: number, banAfterRefusals: number): Usage {
  const { resetsAt } = tightest(windowsOf(usage, limits, now))
  const refusals = (usage.refusalsUntil === resetsAt ? usage.refusals : 0) + 1
  if (refusals < banAfterRefusals) return { ...usage, refusals, refusalsUntil: resetsAt }
  const isRepeated = usage.bannedUntil > 0 && now < usage.bannedUntil + banMemoryMs
  const banLevel = isRepeated ? usage.banLevel + 1 : 0
  const bannedUntil = now + Math.min(banMs * 2 ** banLevel, banMaxMs)
  return { ...usage, refusals: 0, refusalsUntil: 0, bannedAt: now, bannedUntil, banLevel }
}

/** A ban that the operator has lifted never was. */
export const clearBan = (usage: Usage, unbannedAt: number): Usage =>
  usage.bannedAt > 0 && usage.bannedAt <= unbannedAt
    ? { ...usage, bannedAt: 0, bannedUntil: 0, banLevel: 0 }
    : usage

function windowOf(endsAt: number, used: number, limit: number, lengthMs: number, now: number): Window {
  if (now >= endsAt) return { limit, remaining: limit, resetsAt: now + lengthMs, isOpen: false }
  return { limit, remaining: Math.max(0, limit - used), resetsAt: endsAt, isOpen: true }
}
