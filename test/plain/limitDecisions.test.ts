import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { headerValue } from '../../src/api/response.ts'
import { rateLimitHeaders, retryAfterSeconds } from '../../src/limits/headers.ts'
import {
  customLimitMax,
  customStreamsMax,
  effectiveLimits,
  planLimits,
  planNames,
} from '../../src/limits/plans.ts'
import {
  addressLimits,
  advance,
  countRequest,
  dayMs,
  emptyLimitState,
  exemptLimits,
  type LimitedKey,
  minuteMs,
  peekKey,
} from '../../src/limits/window.ts'

const now = Date.UTC(2026, 10, 15)
const limits = { perMinute: 1, perDay: 100 }
const secretKey: LimitedKey = { limits, origins: [], unbannedAt: 0 }
const publishableKey: LimitedKey = { ...secretKey, origins: ['https://pets.example'] }

/** The decisions on this many simultaneous requests. The second rejection starts a ban. */
function decide(key: LimitedKey, count: number) {
  let state = emptyLimitState as Parameters<typeof countRequest>[0]
  const decisions = Array.from({ length: count }, () => {
    const counted = countRequest(state, key, now, 2)
    state = counted.state
    return counted.decision
  })
  return { state, decisions }
}
const shown = ({ decisions }: ReturnType<typeof decide>) =>
  decisions.map(({ outcome, isNewBan, bannedUntil }) => [outcome, isNewBan, bannedUntil])

describe('the decision on a request', () => {
  test('names the ban that it starts, and the end of a ban', () => {
    const end = now + 5 * minuteMs
    assert.deepEqual(shown(decide(secretKey, 4)), [
      ['admitted', false, 0],
      ['limited', false, 0],
      ['banned', true, end],
      ['banned', false, end],
    ])
  })

  test('never bans a publishable key, and counts none of its rejections', () => {
    const decided = decide(publishableKey, 4)
    assert.deepEqual(shown(decided), [
      ['admitted', false, 0],
      ...Array.from({ length: 3 }, () => ['limited', false, 0]),
    ])
    assert.deepEqual([decided.state.rejections, decided.state.banned_until], [0, 0])
  })

  test('is the same for a reader, who consumes nothing', () => {
    const { state } = decide(secretKey, 3)
    const peeked = peekKey(state, secretKey, now)
    assert.deepEqual([peeked.outcome, peeked.bannedUntil], ['banned', now + 5 * minuteMs])
    assert.equal(peekKey(state, publishableKey, now).outcome, 'admitted')
    const later = peekKey(state, secretKey, now + 5 * minuteMs)
    assert.deepEqual([later.outcome, later.bannedUntil], ['admitted', 0])
    assert.equal(peekKey(emptyLimitState, secretKey, now).windows.minute.remaining, 1)
  })
})

test('state that is not ahead of the clock is kept as it is', () => {
  const { state } = decide(secretKey, 3)
  assert.equal(advance(state, now), state)
  const later = { ...state, minute_ends_at: now + 2 * minuteMs }
  assert.equal(advance(later, now).minute_ends_at, now + minuteMs)
  const tomorrow = { ...state, day_ends_at: now + 2 * dayMs }
  assert.equal(advance(tomorrow, now).day_ends_at, now + dayMs)
})

test('the limits of plans, addresses and exempt requests', () => {
  assert.deepEqual(planNames, ['free', 'pro', 'business', 'enterprise'])
  assert.deepEqual(planLimits, {
    free: { perMinute: 60, perDay: 1_000, streams: 2 },
    pro: { perMinute: 300, perDay: 10_000, streams: 10 },
    business: { perMinute: 1_000, perDay: 100_000, streams: 50 },
    enterprise: { perMinute: 10_000, perDay: 1_000_000, streams: 1_000 },
  })
  assert.deepEqual(
    [addressLimits, exemptLimits],
    [
      { perMinute: 100, perDay: 10_000 },
      { perMinute: 60, perDay: 86_400 },
    ],
  )
  assert.deepEqual([customLimitMax, customStreamsMax], [1_000_000_000, 5_000])
})

test('only an enterprise key can have other limits than its plan', () => {
  const overrides = { perMinute: 7, perDay: 8, streams: 9 }
  assert.deepEqual(effectiveLimits('enterprise', overrides), overrides)
  assert.deepEqual(effectiveLimits('enterprise', { perDay: null }), planLimits.enterprise)
  for (const plan of ['free', 'pro', 'business'] as const)
    assert.deepEqual(effectiveLimits(plan, overrides), planLimits[plan])
})

test('the headers of a decision', () => {
  const { decisions } = decide(secretKey, 3)
  const headersAt = (index: number) => {
    const decision = decisions[index]
    assert.ok(decision)
    const block = rateLimitHeaders(decision.windows, now + 1, decision.bannedUntil)
    return ['Limit', 'Remaining', 'Reset'].map((name) => headerValue(block, `X-RateLimit-${name}`))
  }
  const seconds = (ms: number) => String((now + ms) / 1_000)
  assert.deepEqual(headersAt(0), ['1', '0', seconds(minuteMs)])
  assert.deepEqual(headersAt(2), ['1', '0', seconds(5 * minuteMs)])
  const fresh = peekKey(emptyLimitState, { ...secretKey, limits: { perMinute: 9, perDay: 100 } }, now)
  const block = rateLimitHeaders(fresh.windows, now + 1, 0)
  assert.equal(headerValue(block, 'X-RateLimit-Remaining'), '9')
  assert.equal(headerValue(rateLimitHeaders(fresh.windows, now, 1), 'X-RateLimit-Remaining'), '0')
  assert.equal(headerValue(block, 'RateLimit-Policy'), '"minute";q=9;w=60, "day";q=100;w=86400')
  assert.equal(headerValue(block, 'RateLimit'), '"minute";r=9;t=60, "day";r=100;t=86400')
  // During a ban no window has requests left before its end.
  const banned = rateLimitHeaders(fresh.windows, now, now + 5 * minuteMs)
  assert.equal(headerValue(banned, 'RateLimit'), '"minute";r=0;t=300, "day";r=0;t=300')
  const windows = { ...fresh.windows, day: { ...fresh.windows.day, remaining: 0 } }
  const exhausted = rateLimitHeaders(windows, now, now + 5 * minuteMs)
  assert.equal(headerValue(exhausted, 'RateLimit'), '"minute";r=0;t=300, "day";r=0;t=86400')
  assert.deepEqual(
    [0, 1, 999, 1_000, 1_001].map((ms) => retryAfterSeconds(now + ms, now)),
    ['0', '1', '1', '1', '2'],
  )
})
