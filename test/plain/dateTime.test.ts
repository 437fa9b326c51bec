import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseDateTime } from '../../src/api/dateTime.ts'
import { timestamp } from '../../src/clock.ts'

const accepted: [text: string, utc: string][] = [
  ['2027-01-31T12:00:00Z', '2027-01-31T12:00:00.000Z'],
  ['2027-01-31t12:00:00z', '2027-01-31T12:00:00.000Z'],
  ['2027-01-31T12:00:00+00:00', '2027-01-31T12:00:00.000Z'],
  ['2027-01-31T12:00:00-00:00', '2027-01-31T12:00:00.000Z'],
  ['2027-01-31T12:00:00+05:30', '2027-01-31T06:30:00.000Z'],
  ['2027-01-31T12:00:00-23:59', '2027-02-01T11:59:00.000Z'],
  ['2027-01-31T12:00:00.1Z', '2027-01-31T12:00:00.100Z'],
  ['2027-01-31T12:00:00.123456+00:00', '2027-01-31T12:00:00.123Z'],
  ['2027-01-31T12:00:00.999999999Z', '2027-01-31T12:00:00.999Z'],
  [`2027-01-31T12:00:00.5${'0'.repeat(10_000)}Z`, '2027-01-31T12:00:00.500Z'],
  ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
  ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
  ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
  ['0099-12-31T23:59:59Z', '0099-12-31T23:59:59.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  // A leap second is the second after it, because Unix time cannot represent it.
  ['2026-12-31T23:59:60Z', '2027-01-01T00:00:00.000Z'],
  ['2026-12-31T15:59:60.25-08:00', '2027-01-01T00:00:00.250Z'],
]

describe('RFC 3339 times are accepted', () => {
  for (const [text, utc] of accepted) {
    test(text.slice(0, 40), () => {
      const read = parseDateTime(text)
      assert.equal(typeof read === 'number' ? timestamp(read) : read, utc)
    })
  }
})

const form = /^must be a time such as/
const existence = /^must be a date and time that exist$/
const range = /^must be from year 0000 to 9999 in UTC$/
const rejected: [text: string, message: RegExp][] = [
  ['', form],
  ['tomorrow', form],
  ['2027-01-31', form],
  ['2027-01-31T12:00:00', form],
  ['2027-01-31T12:00Z', form],
  ['2027-01-31 12:00:00Z', form],
  ['2027-01-31T12:00:00 Z', form],
  [' 2027-01-31T12:00:00Z', form],
  ['2027-01-31T12:00:00Z\n', form],
  ['2027-01-31T12:00:00.Z', form],
  ['2027-01-31T12:00:00,5Z', form],
  ['2027-01-31T12:00:00+0530', form],
  ['2027-01-31T12:00:00+05', form],
  ['2027-01-31T12:00:00\u221205:00', form],
  ['27-01-31T12:00:00Z', form],
  ['+002027-01-31T12:00:00Z', form],
  ['-2027-01-31T12:00:00Z', form],
  ['2027-1-31T12:00:00Z', form],
  ['20270131T120000Z', form],
  ['\u0662027-01-31T12:00:00Z', form],
  ['2027-01-31T12:00:00[Europe/Paris]', form],
  ['2027-02-30T12:00:00Z', existence],
  ['2027-02-29T12:00:00Z', existence],
  ['2100-02-29T12:00:00Z', existence],
  ['2027-04-31T12:00:00Z', existence],
  ['2027-00-31T12:00:00Z', existence],
  ['2027-13-31T12:00:00Z', existence],
  ['2027-01-00T12:00:00Z', existence],
  ['2027-01-32T12:00:00Z', existence],
  ['2027-01-31T24:00:00Z', existence],
  ['2027-01-31T12:60:00Z', existence],
  ['2027-01-31T12:00:61Z', existence],
  ['2027-01-31T12:00:60Z', existence],
  ['2026-12-31T23:59:60+01:00', existence],
  ['2027-01-31T12:00:00+24:00', existence],
  ['2027-01-31T12:00:00-12:60', existence],
  ['0000-01-01T00:00:00+00:01', range],
  ['9999-12-31T23:59:59-00:01', range],
  ['9999-12-31T23:59:60Z', range],
  ['9999-12-31T11:00:60-13:00', existence],
]

describe('other texts are rejected', () => {
  for (const [text, message] of rejected) {
    test(JSON.stringify(text), () => assert.match(String(parseDateTime(text)), message))
  }
})

/** Days since 1970-01-01 in the Gregorian calendar, counted year by year and month by month. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const leapYearsBefore = (y: number) =>
    Math.floor((y - 1) / 4) - Math.floor((y - 1) / 100) + Math.floor((y - 1) / 400)
  const days = (year - 1970) * 365 + leapYearsBefore(year) - leapYearsBefore(1970)
  return (
    days +
    lengthsOf(year)
      .slice(0, month - 1)
      .reduce((sum, length) => sum + length, 0) +
    day -
    1
  )
}

const isLeap = (year: number) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
const lengthsOf = (year: number) => [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

test('every time is read correctly with any offset, case and fraction', () => {
  const padded = (value: number, length = 2) => String(value).padStart(length, '0')
  const fields = fc.record({
    year: fc.oneof(fc.integer({ min: 0, max: 9999 }), fc.constantFrom(0, 99, 1900, 2000, 2028, 9999)),
    month: fc.integer({ min: 0, max: 13 }),
    day: fc.oneof(fc.integer({ min: 0, max: 32 }), fc.constantFrom(28, 29, 30, 31)),
    hour: fc.oneof(fc.integer({ min: 0, max: 24 }), fc.constant(23)),
    minute: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constant(59)),
    second: fc.oneof(fc.integer({ min: 0, max: 61 }), fc.constant(60)),
    fraction: fc.stringMatching(/^[0-9]{0,12}$/),
    t: fc.constantFrom('T', 't'),
    zone: fc.oneof(
      fc.constantFrom('Z', 'z'),
      fc.record({
        sign: fc.constantFrom('+', '-'),
        hours: fc.integer({ min: 0, max: 24 }),
        minutes: fc.integer({ min: 0, max: 60 }),
      }),
    ),
  })
  let [read, rejectedCount] = [0, 0]
  fc.assert(
    fc.property(fields, ({ year, month, day, hour, minute, second, fraction, t, zone }) => {
      const date = `${padded(year, 4)}-${padded(month)}-${padded(day)}`
      const time = `${padded(hour)}:${padded(minute)}:${padded(second)}${fraction && `.${fraction}`}`
      const offset =
        typeof zone === 'string' ? zone : `${zone.sign}${padded(zone.hours)}:${padded(zone.minutes)}`
      const offsetMinutes =
        typeof zone === 'string' ? 0 : (zone.sign === '+' ? 1 : -1) * (zone.hours * 60 + zone.minutes)
      const utcMinutes = daysSinceEpoch(year, month, day) * 1440 + hour * 60 + minute - offsetMinutes
      const isLastMinuteOfDay = (utcMinutes + 1) % 1440 === 0
      const exists =
        day >= 1 &&
        day <= (lengthsOf(year)[month - 1] ?? 0) &&
        hour <= 23 &&
        minute <= 59 &&
        (second <= 59 || (second === 60 && isLastMinuteOfDay)) &&
        (typeof zone === 'string' || (zone.hours <= 23 && zone.minutes <= 59))
      const fractionMs = Number((BigInt(fraction || '0') * 1000n) / 10n ** BigInt(fraction.length))
      const ms = (utcMinutes * 60 + second) * 1000 + fractionMs
      const isInRange =
        ms >= daysSinceEpoch(0, 1, 1) * 86_400_000 && ms < daysSinceEpoch(10_000, 1, 1) * 86_400_000
      const found = parseDateTime(`${date}${t}${time}${offset}`)
      if (exists && isInRange) {
        read++
        assert.equal(found, ms)
      } else {
        rejectedCount++
        assert.match(String(found), exists ? range : existence)
      }
    }),
    { numRuns: 5_000 },
  )
  assert.ok(read > 500 && rejectedCount > 500, `${read} read, ${rejectedCount} rejected`)
})

test('a formatted time is read back unchanged', () => {
  const shown = fc.integer({
    min: Date.parse('0000-01-01T00:00:00Z'),
    max: Date.parse('9999-12-31T23:59:59.999Z'),
  })
  fc.assert(fc.property(shown, (ms) => assert.equal(parseDateTime(timestamp(ms)), ms)))
})
