import assert from 'node:assert/strict'

/** Fails with the names that are missing and those that should not be there, in place of a difference of two lists. */
export function assertSameNames(what: string, actual: Iterable<string>, expected: Iterable<string>): void {
  const [are, should] = [new Set(actual), new Set(expected)]
  const missing = [...should.difference(are)].sort()
  const unknown = [...are.difference(should)].sort()
  const problems = [
    missing.length > 0 && `${what}: missing ${missing.join(', ')}.`,
    unknown.length > 0 && `${what}: unknown ${unknown.join(', ')}.`,
  ]
  assert.ok(missing.length === 0 && unknown.length === 0, problems.filter(Boolean).join(' '))
}
