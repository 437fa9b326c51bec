import { test } from 'node:test'
import { followThroughCrashes } from '../support/mirror.ts'

// mirror.slow.test.ts has more crashes and more writers.
test('a mirror that follows the feed equals the database after a crash with 10 concurrent writers', (t) =>
  followThroughCrashes(t, { crashes: 1, writers: 10 }))
