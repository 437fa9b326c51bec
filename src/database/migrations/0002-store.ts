import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Orders with holds, the inventory, the feed of events, and webhooks. */
export const store: Migration = {
  version: 2,
  name: 'store',
  async up(db, dialect) {
    const { integer, identityType, identity, tableEnd } = dialect

    await db.schema
      .createTable('positions')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('value', integer, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()

    await db.schema
      .createTable('inventory')
      .addColumn('status', 'text', (column) => column.primaryKey())
      .addColumn('count', integer, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()
    for (const status of ['available', 'pending', 'sold']) {
      const count = db
        .selectFrom('pets')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('status', '=', status)
      await db.insertInto('inventory').values({ status, count }).execute()
    }
    await dialect.keepInventory(db)

    await db.schema
      .createTable('orders')
      .addColumn('id', identityType, identity)
      .addColumn('pet_id', integer, (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('customer_name', 'text')
      .addColumn('customer_email', 'text')
      .addColumn('note', 'text')
      .addColumn('placed_at', integer, (column) => column.notNull())
      .addColumn('updated_at', integer, (column) => column.notNull())
      .addColumn('hold_expires_at', integer)
      .addColumn('cancel_reason', 'text')
      .modifyEnd(tableEnd)
      .execute()
    await db.schema.createIndex('orders_by_status').on('orders').columns(['status', 'id']).execute()
    await db.schema.createIndex('orders_by_pet').on('orders').columns(['pet_id', 'id']).execute()
    await db.schema
      .createIndex('orders_by_pet_and_status')
      .on('orders')
      .columns(['pet_id', 'status', 'id'])
      .execute()
    // The last line of defence: whatever the code does, an animal has one open order at the most.
    await db.schema
      .createIndex('orders_open_by_pet')
      .unique()
      .on('orders')
      .column('pet_id')
      .where(sql.ref('status'), 'in', sql`('placed', 'approved')`)
      .execute()
    await db.schema
      .createIndex('orders_by_hold')
      .on('orders')
      .column('hold_expires_at')
      .where('hold_expires_at', 'is not', null)
      .execute()

    await db.schema
      .createTable('events')
      .addColumn('id', identityType, identity)
      .addColumn('type', 'text', (column) => column.notNull())
      .addColumn('created_at', integer, (column) => column.notNull())
      .addColumn('data', 'text', (column) => column.notNull())
      .addColumn('is_private', integer, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()
    await db.schema
      .createIndex('events_public')
      .on('events')
      .column('id')
      .where(sql.ref('is_private'), '=', sql.lit(0))
      .execute()

    await db.schema
      .createTable('webhooks')
      .addColumn('id', identityType, identity)
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('events', 'text', (column) => column.notNull())
      .addColumn('from_event_id', integer, (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('status_reason', 'text')
      .addColumn('secret', 'text', (column) => column.notNull())
      .addColumn('previous_secret', 'text')
      .addColumn('previous_secret_until', integer)
      .addColumn('created_at', integer, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()

    await db.schema
      .createTable('webhook_deliveries')
      .addColumn('id', identityType, identity)
      .addColumn('webhook_id', integer, (column) =>
        column.notNull().references('webhooks.id').onDelete('cascade'),
      )
      .addColumn('event_id', integer)
      .addColumn('event_type', 'text', (column) => column.notNull())
      .addColumn('event_at', integer, (column) => column.notNull())
      .addColumn('data', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('attempts', integer, (column) => column.notNull())
      .addColumn('next_attempt_at', integer)
      .addColumn('claimed_until', integer, (column) => column.notNull())
      .addColumn('last_status', integer)
      .addColumn('last_error', 'text')
      .addColumn('created_at', integer, (column) => column.notNull())
      .addColumn('finished_at', integer)
      .modifyEnd(tableEnd)
      .execute()
    await db.schema
      .createIndex('deliveries_by_webhook')
      .on('webhook_deliveries')
      .columns(['webhook_id', 'id'])
      .execute()
    // One index for each lane: whose turn it is must not cost more the more are waiting.
    await db.schema
      .createIndex('deliveries_first')
      .on('webhook_deliveries')
      .columns(['webhook_id', 'id', 'claimed_until', 'next_attempt_at'])
      .where(sql<boolean>`next_attempt_at is not null and attempts = 0`)
      .execute()
    await db.schema
      .createIndex('deliveries_again')
      .on('webhook_deliveries')
      .columns(['webhook_id', 'next_attempt_at', 'claimed_until'])
      .where(sql<boolean>`next_attempt_at is not null and attempts > 0`)
      .execute()

    // What a kept answer is about, so that erasing a customer erases what was kept for retries too.
    await db.schema.alterTable('idempotent_answers').addColumn('concerns', 'text').execute()
    await db.schema
      .createIndex('idempotent_answers_by_concern')
      .on('idempotent_answers')
      .column('concerns')
      .where('concerns', 'is not', null)
      .execute()
  },
}
