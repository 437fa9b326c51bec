import { tightest, type Window, type Windows } from './window.ts'

const secondsUp = (ms: number) => Math.ceil(ms / 1000)

/** The three headers of the interface, and both windows in the IETF draft's syntax (draft-ietf-httpapi-ratelimit-headers). */
export function rateHeaders(windows: Windows, now: number): Record<string, string> {
  const { minute, day } = windows
  const { limit, remaining, resetsAt } = tightest(windows)
  return {
    'X-RateLimit-Limit': limitText(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': resetText(secondsUp(resetsAt)),
    'RateLimit-Policy': policyOf(minute.limit, day.limit),
    RateLimit: `"minute";r=${minute.remaining};t=${secondsLeft(minute, now)}, "day";r=${day.remaining};t=${secondsLeft(day, now)}`,
  }
}

/** While a key is banned nothing is left, whatever its windows say. */
export const bannedHeaders = (
  windows: Windows,
  bannedUntil: number,
  now: number,
): Record<string, string> => ({
  ...rateHeaders(windows, now),
  'X-RateLimit-Remaining': '0',
  'X-RateLimit-Reset': String(secondsUp(bannedUntil)),
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
