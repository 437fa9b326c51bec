import type { Limits } from '../../../client/src/index.ts'
import { now } from './clock.ts'
import { RequestError } from './errors.ts'

/** A key that is banned or has used its allowance can read its limits, and nothing else. */
export function blockedBy({ bannedUntil, minute, day }: Limits): RequestError | undefined {
  if (bannedUntil !== null)
    return new RequestError(
      'key_banned',
      'It repeatedly exceeded its rate limit. An operator can lift the ban.',
      { status: 429, retryAfterMs: Date.parse(bannedUntil) - now() },
    )
  for (const [window, name] of [
    [day, 'day'],
    [minute, 'minute'],
  ] as const) {
    if (window.remaining > 0 || window.resetsAt === null || Date.parse(window.resetsAt) <= now()) continue
    return new RequestError(
      'rate_limit_exceeded',
      `This key has used all ${window.limit.toLocaleString('en')} requests of its ${name}.`,
      { status: 429, retryAfterMs: Date.parse(window.resetsAt) - now() },
    )
  }
  return undefined
}
