import type { HeaderBlock } from '../api/response.ts'
import { mostRestrictive, type Window, type Windows } from './window.ts'

const secondsUp = (ms: number) => Math.ceil(ms / 1000)

/**
 * The headers `X-RateLimit-*`, and of `RateLimit-Policy` and `RateLimit` in the syntax of
 * draft-ietf-httpapi-ratelimit-headers. A banned key has no requests left until the ban ends.
 */
export function rateLimitHeaders(windows: Windows, now: number, bannedUntil = 0): HeaderBlock {
  const { minute, day } = windows
  const { limit, remaining, resetsAt } = mostRestrictive(windows)
  const isBanned = bannedUntil > 0
  return [
    'X-RateLimit-Limit',
    String(limit),
    'X-RateLimit-Remaining',
    isBanned ? '0' : String(remaining),
    'X-RateLimit-Reset',
    String(secondsUp(isBanned ? bannedUntil : resetsAt)),
    'RateLimit-Policy',
    `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`,
    'RateLimit',
    `"minute";${left(minute, now, bannedUntil)}, "day";${left(day, now, bannedUntil)}`,
  ]
}

/** Whole seconds until the second in `X-RateLimit-Reset`: a caller that waits this long is never too early. */
export const retryAfterSeconds = (resetsAt: number, now: number): string =>
  String(secondsUp(secondsUp(resetsAt) * 1000 - now))

/** During a ban a window has no requests left until the ban ends, or until it resets if that is later. */
function left({ remaining, resetsAt }: Window, now: number, bannedUntil: number): string {
  if (bannedUntil === 0) return `r=${remaining};t=${secondsUp(resetsAt - now)}`
  return `r=0;t=${secondsUp(Math.max(bannedUntil, remaining === 0 ? resetsAt : 0) - now)}`
}
