import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

test('what a release has frozen does not change', () => {
  const frozen = Object.entries(JSON.parse(read('test/fixtures/frozen.json')))
  // The first release is the first that has something to keep.
  const isReleased = /^## \[\d+\.\d+\.\d+\]/m.test(read('CHANGELOG.md'))
  assert.equal(frozen.length > 0, isReleased)
  for (const [path, digest] of frozen)
    assert.equal(
      createHash('sha256').update(read(path)).digest('hex'),
      digest,
      `${path} belongs to a release.`,
    )
})
