import { test } from 'node:test'
import { compareAddressCounts, compareKeyCounts } from '../support/counting.ts'

test('PostgreSQL counts keys exactly as memory does, in many random sequences', (t) =>
  compareKeyCounts(t, 50))

test('PostgreSQL counts addresses exactly as memory does, in many random sequences', (t) =>
  compareAddressCounts(t, 25))
