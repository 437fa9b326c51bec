import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Limits } from '../../src/keys/plans.ts'
import { ratesOf, retryAfter } from '../../src/limits/headers.ts'
import {
  advance,
  clearBan,
  consume,
  dayMs,
  isBanned,
  minuteMs,
  noUsage,
  refuse,
  tightest,
  type Usage,
  type Windows,
  windowsOf,
} from '../../src/limits/window.ts'

type Outcome = 'admitted' | 'limited' | 'banned'

/** The functions under test, put together as a limiter does. */
class Subject {
  usage: Usage = noUsage
  unbannedAt = 0
  readonly #banAfter: number

  constructor(banAfter = Number.POSITIVE_INFINITY) {
    this.#banAfter = banAfter
  }

  request(limits: Limits, now: number): Outcome {
    const before = advance(clearBan(this.usage, this.unbannedAt), now)
    const taken = isBanned(before, now) ? undefined : consume(before, limits, now)
    this.usage = isBanned(before, now) ? before : (taken ?? refuse(before, limits, now, this.#banAfter))
    return taken ? 'admitted' : isBanned(this.usage, now) ? 'banned' : 'limited'
  }

  windows(limits: Limits, now: number): Windows {
    return windowsOf(advance(this.usage, now), limits, now)
  }
}

type ModelWindow = { opensAt: number; endsAt: number; admitted: number[] }
type ModelBan = { beginsAt: number; endsAt: number; isForgotten: boolean }

/** The same by the letter of the interface: a list of windows with what each admitted, and a list of bans. */
class Model {
  readonly minutes: ModelWindow[] = []
  readonly days: ModelWindow[] = []
  readonly bans: ModelBan[] = []
  #refusals: { endsAt: number }[] = []
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
    if (full.length > 0) return this.#refuse(Math.max(...full.map(({ endsAt }) => endsAt)), now)
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
    // One that was followed by another is over for good, wherever the clock goes.
    const last = this.bans.at(-1)
    return last && now < last.endsAt ? last : undefined
  }

  #refuse(endsAt: number, now: number): Outcome {
    this.#refusals = [...this.#refusals.filter((refusal) => refusal.endsAt === endsAt), { endsAt }]
    if (this.#refusals.length < this.#banAfter) return 'limited'
    this.#refusals = []
    const last = this.bans.at(-1)
    if (last && now >= last.endsAt + dayMs) for (const ban of this.bans) ban.isForgotten = true
    const remembered = this.bans.filter(({ isForgotten }) => !isForgotten).length
    let length = 5 * minuteMs
    for (let i = 0; i < remembered; i++) length = Math.min(2 * length, dayMs)
    this.bans.push({ beginsAt: now, endsAt: now + length, isForgotten: false })
    return 'banned'
  }

  /** What would begin in the future, because the clock was set back, begins now; and its end comes forward with it. */
  #followClock(now: number): void {
    for (const window of [this.minutes.at(-1), this.days.at(-1)]) {
      if (!window || window.opensAt <= now) continue
      // Refusals are counted inside one window, and one that was moved is another.
      this.#refusals = this.#refusals.filter(({ endsAt }) => endsAt !== window.endsAt)
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
  assert.equal(isBanned(subject.usage, now), ban !== undefined)
  if (ban) assert.equal(subject.usage.bannedUntil, ban.endsAt)
}

const start = Date.UTC(2026, 10, 15)
const limits = fc.record({
  perMinute: fc.integer({ min: 1, max: 6 }),
  perDay: fc.integer({ min: 1, max: 15 }),
})
/** Steps that fall on, just before and just after the edges of the windows, and anywhere between. */
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

test('what is admitted is what a list of windows admits, at every moment, as the plan changes', () => {
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

test('no window ever admits more than its allowance, and none lasts longer than its length', () => {
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
        // Windows are laid over the admitted requests alone: refusals must not have moved them.
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

test('a refused request takes from neither window', () => {
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

test('a clock that is set back holds no window and no ban for longer than its length', () => {
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

test('a key whose window is used up when the clock is set back waits one minute, not until the old end', () => {
  const allowed = { perMinute: 1, perDay: 100 }
  const subject = new Subject()
  assert.equal(subject.request(allowed, start), 'admitted')
  const setBack = start - 3_600_000
  assert.equal(subject.request(allowed, setBack), 'limited')
  assert.equal(subject.windows(allowed, setBack).minute.resetsAt, setBack + minuteMs)
  assert.equal(subject.request(allowed, setBack + minuteMs - 1), 'limited')
  assert.equal(subject.request(allowed, setBack + minuteMs), 'admitted')
})

test('a ban stands for its own length when the clock is set back', () => {
  const allowed = { perMinute: 1, perDay: 100 }
  const subject = new Subject(1)
  subject.request(allowed, start)
  assert.equal(subject.request(allowed, start), 'banned')
  const setBack = start - 3_600_000
  assert.equal(subject.request(allowed, setBack), 'banned')
  assert.equal(subject.request(allowed, setBack + 5 * minuteMs - 1), 'banned')
  assert.equal(subject.request(allowed, setBack + 5 * minuteMs), 'admitted')
})

test('bans come after the set number of refusals in one window, double within 24 hours and are lifted whole', () => {
  const step = fc.oneof(
    { weight: 12, arbitrary: forward.map((ms) => ({ ms, isLift: false })) },
    { weight: 1, arbitrary: fc.constant({ ms: 0, isLift: true }) },
  )
  fc.assert(
    fc.property(
      limits,
      fc.integer({ min: 1, max: 4 }),
      fc.array(step, { maxLength: 120, size: 'max' }),
      (allowed, banAfter, steps) => {
        const [subject, model] = [new Subject(banAfter), new Model(banAfter)]
        let now = start
        for (const { ms, isLift } of steps) {
          now += ms
          if (isLift) {
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

test('bans last 5, 10, 20 minutes and so on up to 24 hours, and begin at 5 again after 24 quiet hours', () => {
  const allowed = { perMinute: 1, perDay: 1_000 }
  const subject = new Subject(1)
  const lengths: number[] = []
  let now = start
  const beBanned = () => {
    subject.request(allowed, now)
    assert.equal(subject.request(allowed, now), 'banned')
    lengths.push((subject.usage.bannedUntil - now) / minuteMs)
    now = subject.usage.bannedUntil
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

test('knocking on while banned changes nothing', () => {
  const allowed = { perMinute: 1, perDay: 1_000 }
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 5 * minuteMs - 1 }), { maxLength: 200, size: 'max' }),
      (knocks) => {
        const subject = new Subject(1)
        subject.request(allowed, start)
        subject.request(allowed, start)
        const banned = subject.usage
        for (const ms of knocks.toSorted((a, b) => a - b)) {
          assert.equal(subject.request(allowed, start + ms), 'banned')
        }
        assert.deepEqual(subject.usage, banned)
        assert.equal(subject.request(allowed, start + 5 * minuteMs), 'admitted')
      },
    ),
  )
})

test('a lifted ban never was: the next one lasts 5 minutes', () => {
  const allowed = { perMinute: 1, perDay: 1_000 }
  const subject = new Subject(1)
  subject.request(allowed, start)
  subject.request(allowed, start)
  subject.unbannedAt = start + 1
  assert.equal(subject.request(allowed, start + 2), 'banned')
  assert.equal(subject.usage.bannedUntil, start + 2 + 5 * minuteMs)
})

test('a lift does not touch a ban that begins later', () => {
  const allowed = { perMinute: 1, perDay: 1_000 }
  const subject = new Subject(1)
  subject.unbannedAt = start
  subject.request(allowed, start + 1)
  subject.request(allowed, start + 1)
  assert.equal(subject.request(allowed, start + 2), 'banned')
})

test('the tighter window is the one with fewest left, and on a tie the one that resets later', () => {
  const window = fc.record({
    limit: fc.constant(9),
    remaining: fc.integer({ min: 0, max: 9 }),
    resetsAt: fc.integer({ min: 0, max: 9 }),
    isOpen: fc.boolean(),
  })
  fc.assert(
    fc.property(window, window, (minute, day) => {
      const chosen = tightest({ minute, day })
      for (const other of [minute, day]) {
        assert.ok(chosen.remaining <= other.remaining)
        if (chosen.remaining === other.remaining) assert.ok(chosen.resetsAt >= other.resetsAt)
      }
    }),
  )
})

test('headers agree with the windows, and whoever waits for Retry-After comes back to an open door', () => {
  fc.assert(
    fc.property(limits, fc.array(forward, { minLength: 1, maxLength: 60, size: 'max' }), (allowed, steps) => {
      const subject = new Subject()
      let now = start
      for (const ms of steps) {
        now += ms
        const outcome = subject.request(allowed, now)
        const windows = subject.windows(allowed, now)
        const rates = ratesOf(windows, now)
        const { resetsAt, remaining } = tightest(windows)
        assert.equal(Number(rates.remaining), remaining)
        assert.equal(Number(rates.reset), Math.ceil(resetsAt / 1000))
        if (outcome === 'admitted') continue
        assert.equal(remaining, 0)
        const back = now + Number(retryAfter(resetsAt, now)) * 1000
        assert.ok(back >= Number(rates.reset) * 1000)
        const returning = new Subject()
        returning.usage = subject.usage
        assert.equal(returning.request(allowed, back), 'admitted')
      }
    }),
    runs,
  )
})
