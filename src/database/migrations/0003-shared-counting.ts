import type { Migration } from '../migration.ts'

/** Counting requests in the store itself, where several processes share it. */
export const sharedCounting: Migration = {
  version: 3,
  name: 'shared-counting',
  up: (db, dialect) => dialect.prepareCounting(db),
}
