import type { Migration } from '../migration.ts'

/** A page of animals from an index alone: those of a rare kind lie far apart in the table, each in a page of its own. */
export const coveringIndexes: Migration = {
  version: 4,
  name: 'covering-indexes',
  up: (db, dialect) => dialect.coverPages(db),
}
