import type { RateLimitHeaders } from '../api/response.ts'
import { tightest, type Window, type Windows } from './window.ts'

const secondsUp = (ms: number) => Math.ceil(ms / 1000)

/** The three numbers of the interface, and both windows in the IETF draft's syntax (draft-ietf-httpapi-ratelimit-headers). */
export function ratesOf(windows: Windows, now: number): RateLimitHeaders {
  const { minute, day } = windows
  const { limit, remaining, resetsAt } = tightest(windows)
  return {
    limit: limitText(limit),
    remaining: String(remaining),
    reset: resetText(secondsUp(resetsAt)),
    policy: policyOf(minute.limit, day.limit),
    windows: `"minute";r=${minute.remaining};t=${secondsLeft(minute, now)}, "day";r=${day.remaining};t=${secondsLeft(day, now)}`,
  }
}

/** While a key is banned nothing is left, whatever its windows say. */
export const ratesOfBanned = (windows: Windows, bannedUntil: number, now: number): RateLimitHeaders => ({
  ...ratesOf(windows, now),
  remaining: '0',
  reset: String(secondsUp(bannedUntil)),
})

let shownMinute = -1
let shownDay = -1
let shownPolicy = ''

/** Most keys are of one plan. */
function policyOf(perMinute: number, perDay: number): string {
  if (perMinute !== shownMinute || perDay !== shownDay) {
    shownMinute = perMinute
    shownDay = perDay
    shownPolicy = `"minute";q=${perMinute};w=60, "day";q=${perDay};w=86400`
  }
  return shownPolicy
}

/** The text of a number that is often the one of the last time. */
function textOf() {
  let shown = Number.NaN
  let text = ''
  return (number: number): string => {
    if (number !== shown) {
      shown = number
      text = String(number)
    }
    return text
  }
}

const limitText = textOf()
const resetText = textOf()

/** Whole seconds until the second that X-RateLimit-Reset names, so that nobody comes back too early. */
export const retryAfter = (resetsAt: number, now: number): string =>
  String(secondsUp(secondsUp(resetsAt) * 1000 - now))

const secondsLeft = ({ resetsAt }: Window, now: number) => secondsUp(resetsAt - now)
