import type { Migration } from '../migration.ts'

/** Animals, the categories they name, keys with their usage, and the answers kept for safe retries. */
export const firstRelease: Migration = {
  version: 1,
  name: 'first-release',
  async up(db, dialect) {
    const { integer, identityType, identity, tableEnd } = dialect

    await db.schema
      .createTable('store_facts')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('value', 'text', (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()

    await db.schema
      .createTable('categories')
      .addColumn('category_id', integer, (column) => column.primaryKey())
      .addColumn('name', 'text')
      .modifyEnd(tableEnd)
      .execute()

    await db.schema
      .createTable('pets')
      .addColumn('id', identityType, identity)
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('category_id', integer, (column) => column.notNull().references('categories.category_id'))
      .addColumn('status', 'text', (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()
    // One index for each combination of filters, each ending in the order of the pages.
    await db.schema.createIndex('pets_by_status').on('pets').columns(['status', 'id']).execute()
    await db.schema.createIndex('pets_by_category').on('pets').columns(['category_id', 'id']).execute()
    await db.schema
      .createIndex('pets_by_category_and_status')
      .on('pets')
      .columns(['category_id', 'status', 'id'])
      .execute()

    await db.schema
      .createTable('api_keys')
      .addColumn('id', identityType, identity)
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('plan', 'text', (column) => column.notNull())
      .addColumn('per_minute', integer)
      .addColumn('per_day', integer)
      .addColumn('scopes', 'text', (column) => column.notNull())
      .addColumn('origins', 'text', (column) => column.notNull())
      .addColumn('from_setting', integer, (column) => column.notNull())
      .addColumn('created_at', integer, (column) => column.notNull())
      .addColumn('expires_at', integer)
      .addColumn('revoked_at', integer)
      .addColumn('unbanned_at', integer, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()

    await db.schema
      .createTable('api_key_secrets')
      .addColumn('hash', 'text', (column) => column.primaryKey())
      .addColumn('key_id', integer, (column) => column.notNull().references('api_keys.id'))
      .addColumn('created_at', integer, (column) => column.notNull())
      .addColumn('expires_at', integer)
      .modifyEnd(tableEnd)
      .execute()
    await db.schema.createIndex('api_key_secrets_by_key').on('api_key_secrets').column('key_id').execute()

    await db.schema
      .createTable('key_usage')
      .addColumn('key_id', integer, (column) => column.primaryKey())
      .addColumn('minute_ends_at', integer, (column) => column.notNull())
      .addColumn('minute_used', integer, (column) => column.notNull())
      .addColumn('day_ends_at', integer, (column) => column.notNull())
      .addColumn('day_used', integer, (column) => column.notNull())
      .addColumn('refusals', integer, (column) => column.notNull())
      .addColumn('refusals_until', integer, (column) => column.notNull())
      .addColumn('banned_at', integer, (column) => column.notNull())
      .addColumn('banned_until', integer, (column) => column.notNull())
      .addColumn('ban_level', integer, (column) => column.notNull())
      .addColumn('last_used_at', integer, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()

    await db.schema
      .createTable('idempotent_answers')
      .addColumn('key_id', integer, (column) => column.notNull())
      .addColumn('idempotency_key', 'text', (column) => column.notNull())
      .addColumn('fingerprint', 'text', (column) => column.notNull())
      .addColumn('status', integer, (column) => column.notNull())
      .addColumn('headers', 'text', (column) => column.notNull())
      .addColumn('body', 'text', (column) => column.notNull())
      .addColumn('created_at', integer, (column) => column.notNull())
      .addPrimaryKeyConstraint('idempotent_answers_key', ['key_id', 'idempotency_key'])
      .modifyEnd(tableEnd)
      .execute()
    await db.schema
      .createIndex('idempotent_answers_by_age')
      .on('idempotent_answers')
      .column('created_at')
      .execute()
  },
}
