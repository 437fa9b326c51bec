import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeAge } from '../../src/profiles/age.ts'

test('an age is in weeks up to 3 months, in months up to 2 years, and then in years', () => {
  const now = Date.parse('2026-05-31T12:00:00Z')
  const ages: readonly (readonly [string, string])[] = [
    // A date of birth can be today somewhere else while it is tomorrow here.
    ['2026-06-01', '0 weeks'],
    ['2026-05-24', '1 week'],
    ['2026-03-01', '13 weeks'],
    ['2026-02-28', '3 months'],
    ['2025-05-31', '12 months'],
    ['2024-06-01', '23 months'],
    ['2024-05-31', '2 years'],
    ['2023-06-01', '2 years'],
  ]
  for (const [birthDate, age] of ages)
    assert.equal(describeAge(birthDate, false, now), age.replace(' ', '\u00a0'), birthDate)
  assert.equal(describeAge('2023-06-01', true, now), 'About 2\u00a0years')
})
