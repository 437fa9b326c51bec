import { test } from 'node:test'
import { followThroughCrashes } from '../support/mirror.ts'

test('a mirror that follows the feed equals the database after 5 crashes with 50 concurrent writers', (t) =>
  followThroughCrashes(t, { crashes: 5, writers: 50 }))
