import type { Migration } from '../migration.ts'

/** How many event streams a key may have open, where it has a limit of its own. */
export const streamLimits: Migration = {
  version: 5,
  name: 'stream-limits',
  async up(db, dialect) {
    await db.schema.alterTable('api_keys').addColumn('streams', dialect.integer).execute()
  },
}
