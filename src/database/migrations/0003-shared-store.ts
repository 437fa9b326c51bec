import type { Migration } from '../migration.ts'

/** What a store needs that several processes share: counting requests in the store itself, and a feed without gaps. */
export const sharedStore: Migration = {
  version: 3,
  name: 'shared-store',
  up: (db, dialect) => dialect.prepareSharing(db),
}
