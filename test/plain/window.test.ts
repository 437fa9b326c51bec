import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { headerValue } from '../../src/api/response.ts'
import { rateLimitHeaders, retryAfterSeconds } from '../../src/limits/headers.ts'
import type { Limits } from '../../src/limits/plans.ts'
import {
  advance,
  countRequest,
  currentWindows,
  type Decision,
  dayMs,
  emptyLimitState,
  isBanned,
  type LimitState,
  minuteMs,
  mostRestrictive,
  type Windows,
} from '../../src/limits/window.ts'

type Outcome = Decision['outcome']

/** A key under test. */
class Subject {
  state: LimitState = emptyLimitState
  unbannedAt = 0
  readonly #banAfter: number

  constructor(banAfter = Number.POSITIVE_INFINITY) {
    this.#banAfter = banAfter
  }

  request(limits: Limits, now: number): Outcome {
    const key = { limits, origins: [], unbannedAt: this.unbannedAt }
    const { state, decision } = countRequest(this.state, key, now, this.#banAfter)
    this.state = state
    return decision.outcome
  }

  windows(limits: Limits, now: number): Windows {
    return currentWindows(advance(this.state, now), limits, now)
  }
}

type ModelWindow = { opensAt: number; endsAt: number; admitted: number[] }
type ModelBan = { beginsAt: number; endsAt: number; isForgotten: boolean }

/** A simple model of the specification: a list of windows with their admitted requests, and a list of bans. */
class Model {
  readonly minutes: ModelWindow[] = []
  readonly days: ModelWindow[] = []
  readonly bans: ModelBan[] = []
  #rejections: { endsAt: number }[] = []
  readonly #banAfter: number

  constructor(banAfter = Number.POSITIVE_INFINITY) {
    this.#banAfter = banAfter
  }

  request(limits: Limits, now: number): Outcome {
    this.#followClock(now)
    if (this.banAt(now)) return 'banned'
    const minute = openAt(this.minutes, now)
    const day = openAt(this.days, now)
    const full = [
      ...(minute && minute.admitted.length >= limits.perMinute ? [minute] : []),
      ...(day && day.admitted.length >= limits.perDay ? [day] : []),
    ]
    if (full.length > 0) return this.#reject(Math.max(...full.map(({ endsAt }) => endsAt)), now)
    for (const [windows, open, length] of [
      [this.minutes, minute, minuteMs],
      [this.days, day, dayMs],
    ] as const) {
      if (open) open.admitted.push(now)
      else windows.push({ opensAt: now, endsAt: now + length, admitted: [now] })
    }
    return 'admitted'
  }

  lift(): void {
    this.bans.length = 0
  }

  banAt(now: number): ModelBan | undefined {
    // A ban that was followed by another has ended, even if the clock is set back.
    const last = this.bans.at(-1)
    return last && now < last.endsAt ? last : undefined
  }

  #reject(endsAt: number, now: number): Outcome {
    this.#rejections = [...this.#rejections.filter((rejection) => rejection.endsAt === endsAt), { endsAt }]
    if (this.#rejections.length < this.#banAfter) return 'limited'
    this.#rejections = []
    const last = this.bans.at(-1)
    if (last && now >= last.endsAt + dayMs) for (const ban of this.bans) ban.isForgotten = true
    const remembered = this.bans.filter(({ isForgotten }) => !isForgotten).length
    let length = 5 * minuteMs
    for (let i = 0; i < remembered; i++) length = Math.min(2 * length, dayMs)
    this.bans.push({ beginsAt: now, endsAt: now + length, isForgotten: false })
    return 'banned'
  }

  /** A window or ban that starts in the future, because the clock was set back, starts now and ends earlier. */
  #followClock(now: number): void {
    for (const window of [this.minutes.at(-1), this.days.at(-1)]) {
      if (!window || window.opensAt <= now) continue
      // Rejections are counted per window, and a moved window is another window.
      this.#rejections = this.#rejections.filter(({ endsAt }) => endsAt !== window.endsAt)
      window.endsAt -= window.opensAt - now
      window.opensAt = now
      window.admitted = window.admitted.map(() => now)
    }
    const ban = this.bans.at(-1)
    if (ban && ban.beginsAt > now) {
      ban.endsAt -= ban.beginsAt - now
      ban.beginsAt = now
    }
  }
}

const openAt = (windows: readonly ModelWindow[], now: number) => {
  const last = windows.at(-1)
  return last && now < last.endsAt ? last : undefined
}

function assertSame(subject: Subject, model: Model, limits: Limits, now: number): void {
  const { minute, day } = subject.windows(limits, now)
  for (const [shown, windows, limit, length] of [
    [minute, model.minutes, limits.perMinute, minuteMs],
    [day, model.days, limits.perDay, dayMs],
  ] as const) {
    const open = openAt(windows, now)
    assert.deepEqual(shown, {
      limit,
      remaining: Math.max(0, limit - (open?.admitted.length ?? 0)),
      resetsAt: open?.endsAt ?? now + length,
      isOpen: open !== undefined,
    })
  }
  const ban = model.banAt(now)
  assert.equal(isBanned(subject.state, now), ban !== undefined)
  if (ban) assert.equal(subject.state.banned_until, ban.endsAt)
}

const start = Date.UTC(2026, 10, 15)
const limits = fc.record({
  perMinute: fc.integer({ min: 1, max: 6 }),
  perDay: fc.integer({ min: 1, max: 15 }),
})
/** Steps to the ends of windows, to 1 ms before and after them, and to any time between. */
const forward = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 20_000 }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(minuteMs - 1, minuteMs, minuteMs + 1, 5 * minuteMs, 10 * minuteMs),
  },
  { weight: 1, arbitrary: fc.constantFrom(dayMs - 1, dayMs, dayMs + 1) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 * dayMs }) },
)
const backward = fc.oneof(fc.integer({ min: -90_000, max: -1 }), fc.integer({ min: -2 * dayMs, max: -1 }))
const runs = { numRuns: 500 }

test('admits the same requests as the model, also when the plan changes', () => {
  const step = fc.record({ ms: forward, limits: fc.option(limits, { freq: 5 }) })
  fc.assert(
    fc.property(limits, fc.array(step, { maxLength: 80, size: 'max' }), (first, steps) => {
      const [subject, model] = [new Subject(), new Model()]
      let [now, current] = [start, first]
      for (const { ms, limits: changed } of steps) {
        now += ms
        current = changed ?? current
        assertSame(subject, model, current, now)
        assert.equal(subject.request(current, now), model.request(current, now))
        assertSame(subject, model, current, now)
      }
    }),
    runs,
  )
})

test('no window admits more than its limit or lasts longer than its length', () => {
  fc.assert(
    fc.property(limits, fc.array(forward, { maxLength: 80, size: 'max' }), (allowed, steps) => {
      const subject = new Subject()
      const admitted: number[] = []
      let now = start
      for (const ms of steps) {
        now += ms
        if (subject.request(allowed, now) === 'admitted') admitted.push(now)
      }
      for (const [length, limit] of [
        [minuteMs, allowed.perMinute],
        [dayMs, allowed.perDay],
      ] as const) {
        // Windows are derived from the admitted requests only: rejected ones must not move them.
        let [opensAt, count] = [Number.NEGATIVE_INFINITY, 0]
        for (const at of admitted) {
          if (at >= opensAt + length) [opensAt, count] = [at, 0]
          assert.ok(++count <= limit)
        }
      }
    }),
    runs,
  )
})

test('a rejected request consumes from neither window', () => {
  fc.assert(
    fc.property(limits, fc.array(forward, { maxLength: 60, size: 'max' }), (allowed, steps) => {
      const subject = new Subject()
      let now = start
      for (const ms of steps) {
        now += ms
        const before = subject.windows(allowed, now)
        if (subject.request(allowed, now) === 'admitted') continue
        assert.deepEqual(subject.windows(allowed, now), before)
      }
    }),
    runs,
  )
})

test('no window or ban lasts longer than its length after the clock is set back', () => {
  const step = fc.oneof({ weight: 5, arbitrary: forward }, { weight: 1, arbitrary: backward })
  fc.assert(
    fc.property(limits, fc.array(step, { maxLength: 80, size: 'max' }), (allowed, steps) => {
      const [subject, model] = [new Subject(4), new Model(4)]
      let now = start
      for (const ms of steps) {
        now += ms
        assert.equal(subject.request(allowed, now), model.request(allowed, now))
        assertSame(subject, model, allowed, now)
        const { minute, day } = subject.windows(allowed, now)
        assert.ok(minute.resetsAt <= now + minuteMs)
        assert.ok(day.resetsAt <= now + dayMs)
      }
    }),
    runs,
  )
})

test('a key with no requests left waits at most one minute after the clock is set back', () => {
  const allowed = { perMinute: 1, perDay: 100 }
  const subject = new Subject()
  assert.equal(subject.request(allowed, start), 'admitted')
  const setBack = start - 3_600_000
  assert.equal(subject.request(allowed, setBack), 'limited')
  assert.equal(subject.windows(allowed, setBack).minute.resetsAt, setBack + minuteMs)
  assert.equal(subject.request(allowed, setBack + minuteMs - 1), 'limited')
  assert.equal(subject.request(allowed, setBack + minuteMs), 'admitted')
})

test('a ban keeps its length after the clock is set back', () => {
  const allowed = { perMinute: 1, perDay: 100 }
  const subject = new Subject(1)
  subject.request(allowed, start)
  assert.equal(subject.request(allowed, start), 'banned')
  const setBack = start - 3_600_000
  assert.equal(subject.request(allowed, setBack), 'banned')
  assert.equal(subject.request(allowed, setBack + 5 * minuteMs - 1), 'banned')
  assert.equal(subject.request(allowed, setBack + 5 * minuteMs), 'admitted')
})

test('a ban starts after the configured number of rejections in one window, doubles within 24 hours, and can be lifted', () => {
  const step = fc.oneof(
    { weight: 12, arbitrary: forward.map((ms) => ({ ms, isLifted: false })) },
    { weight: 1, arbitrary: fc.constant({ ms: 0, isLifted: true }) },
  )
  fc.assert(
    fc.property(
      limits,
      fc.integer({ min: 1, max: 4 }),
      fc.array(step, { maxLength: 120, size: 'max' }),
      (allowed, banAfter, steps) => {
        const [subject, model] = [new Subject(banAfter), new Model(banAfter)]
        let now = start
        for (const { ms, isLifted } of steps) {
          now += ms
          if (isLifted) {
            subject.unbannedAt = now++
            model.lift()
          }
          assert.equal(subject.request(allowed, now), model.request(allowed, now))
          assertSame(subject, model, allowed, now)
        }
      },
    ),
    runs,
  )
})

test('bans last 5, 10, 20 minutes and so on up to 24 hours, and 5 minutes again after 24 hours without a ban', () => {
  const allowed = { perMinute: 1, perDay: 1_000 }
  const subject = new Subject(1)
  const lengths: number[] = []
  let now = start
  const beBanned = () => {
    subject.request(allowed, now)
    assert.equal(subject.request(allowed, now), 'banned')
    lengths.push((subject.state.banned_until - now) / minuteMs)
    now = subject.state.banned_until
  }
  for (let i = 0; i < 11; i++) beBanned()
  assert.deepEqual(lengths, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440])
  now += dayMs - 1
  beBanned()
  assert.equal(lengths.at(-1), 1440)
  now += dayMs
  beBanned()
  assert.equal(lengths.at(-1), 5)
})

test('requests during a ban change nothing', () => {
  const allowed = { perMinute: 1, perDay: 1_000 }
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 5 * minuteMs - 1 }), { maxLength: 200, size: 'max' }),
      (offsets) => {
        const subject = new Subject(1)
        subject.request(allowed, start)
        subject.request(allowed, start)
        const banned = subject.state
        for (const ms of offsets.toSorted((a, b) => a - b)) {
          assert.equal(subject.request(allowed, start + ms), 'banned')
        }
        assert.deepEqual(subject.state, banned)
        assert.equal(subject.request(allowed, start + 5 * minuteMs), 'admitted')
      },
    ),
  )
})

test('after a ban is lifted, the next one lasts 5 minutes', () => {
  const allowed = { perMinute: 1, perDay: 1_000 }
  const subject = new Subject(1)
  subject.request(allowed, start)
  subject.request(allowed, start)
  subject.unbannedAt = start + 1
  assert.equal(subject.request(allowed, start + 2), 'banned')
  assert.equal(subject.state.banned_until, start + 2 + 5 * minuteMs)
})

test('lifting a ban does not affect a ban that starts later', () => {
  const allowed = { perMinute: 1, perDay: 1_000 }
  const subject = new Subject(1)
  subject.unbannedAt = start
  subject.request(allowed, start + 1)
  subject.request(allowed, start + 1)
  assert.equal(subject.request(allowed, start + 2), 'banned')
})

test('the most restrictive window is the one with the fewest requests left, and on a tie the one that resets later', () => {
  const window = fc.record({
    limit: fc.constant(9),
    remaining: fc.integer({ min: 0, max: 9 }),
    resetsAt: fc.integer({ min: 0, max: 9 }),
    isOpen: fc.boolean(),
  })
  fc.assert(
    fc.property(window, window, (minute, day) => {
      const chosen = mostRestrictive({ minute, day })
      for (const other of [minute, day]) {
        assert.ok(chosen.remaining <= other.remaining)
        if (chosen.remaining === other.remaining) assert.ok(chosen.resetsAt >= other.resetsAt)
      }
    }),
  )
})

test('headers agree with the windows, and a request after Retry-After is admitted', () => {
  fc.assert(
    fc.property(limits, fc.array(forward, { minLength: 1, maxLength: 60, size: 'max' }), (allowed, steps) => {
      const subject = new Subject()
      let now = start
      for (const ms of steps) {
        now += ms
        const outcome = subject.request(allowed, now)
        const windows = subject.windows(allowed, now)
        const headers = rateLimitHeaders(windows, now)
        const { resetsAt, remaining } = mostRestrictive(windows)
        const reset = Number(headerValue(headers, 'X-RateLimit-Reset'))
        assert.equal(Number(headerValue(headers, 'X-RateLimit-Remaining')), remaining)
        assert.equal(reset, Math.ceil(resetsAt / 1000))
        if (outcome === 'admitted') continue
        assert.equal(remaining, 0)
        const back = now + Number(retryAfterSeconds(resetsAt, now)) * 1000
        assert.ok(back >= reset * 1000)
        const returning = new Subject()
        returning.state = subject.state
        assert.equal(returning.request(allowed, back), 'admitted')
      }
    }),
    runs,
  )
})
