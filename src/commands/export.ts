import { once } from 'node:events'
import type { Kysely } from 'kysely'
import { toJson } from '../api/json.ts'
import { lastAssignedCategoryId } from '../categories/queries.ts'
import type { Database } from '../database/database.ts'
import type { SqlDialect } from '../database/dialect.ts'
import type { Tables } from '../database/tables.ts'
import type { OrderStatus } from '../orders/order.ts'
import { parseArguments } from './arguments.ts'
import { formatVersion } from './records.ts'
import { withDatabase } from './store.ts'

const usage = `petstore export [--without-keys] > store.ndjson

Writes the whole store as NDJSON: animals, categories, orders, keys (their hashes, never their secrets) and counters, as
they are at one moment, also while a server works on it. Webhooks are left out. "petstore import --with-keys" reads it.

  --without-keys  leaves out keys and counters: "petstore import" takes the file without --with-keys

The file holds the names of customers: write it where only you can read it (umask 077).`

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values } = parseArguments(args, usage, {
    json: { type: 'boolean' },
    'without-keys': { type: 'boolean' },
  })
  const hasKeys = !values['without-keys']
  await withDatabase(env, (database) =>
    database.snapshot(async (db) => {
      for await (const record of records(db, database, hasKeys)) {
        if (!process.stdout.write(`${toJson(record)}\n`)) await once(process.stdout, 'drain')
      }
    }),
  )
}

async function* records(
  db: Kysely<Tables>,
  { dialect }: Database,
  hasKeys: boolean,
): AsyncGenerator<Record<string, unknown>> {
  yield { type: 'petstore', format: formatVersion, ...(hasKeys && (await counters(db, dialect))) }
  for await (const row of db.selectFrom('categories').selectAll().orderBy('category_id').stream()) {
    yield { type: 'category', id: row.category_id, name: row.name }
  }
  // An import that ends an order gives its animal back before the animal's own line has the last word on its status;
  // and one that opens an order finds the animal there.
  yield* orderRecords(db, ['delivered', 'cancelled'])
  for await (const row of db.selectFrom('pets').selectAll().orderBy('id').stream()) {
    yield { type: 'pet', id: row.id, name: row.name, categoryId: row.category_id, status: row.status }
  }
  yield* orderRecords(db, ['placed', 'approved'])
  if (hasKeys) yield* keyRecords(db)
}

const counters = async (db: Kysely<Tables>, dialect: SqlDialect) => ({
  lastPetId: await dialect.lastAssignedId(db, 'pets'),
  lastKeyId: await dialect.lastAssignedId(db, 'api_keys'),
  lastCategoryId: await lastAssignedCategoryId(db),
  lastOrderId: await dialect.lastAssignedId(db, 'orders'),
  lastEventId: await dialect.lastAssignedId(db, 'events'),
})

async function* keyRecords(db: Kysely<Tables>): AsyncGenerator<Record<string, unknown>> {
  for await (const row of db.selectFrom('api_keys').selectAll().orderBy('id').stream()) {
    const secrets = await db
      .selectFrom('api_key_secrets')
      .selectAll()
      .where('key_id', '=', row.id)
      .orderBy('created_at')
      .orderBy('hash')
      .execute()
    yield {
      type: 'key',
      id: row.id,
      name: row.name,
      plan: row.plan,
      perMinute: row.per_minute,
      perDay: row.per_day,
      streams: row.streams,
      scopes: JSON.parse(row.scopes),
      origins: JSON.parse(row.origins),
      isFromSetting: row.from_setting === 1,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      revokedAt: row.revoked_at,
      unbannedAt: row.unbanned_at,
      secrets: secrets.map(({ hash, created_at, expires_at }) => ({
        hash,
        createdAt: created_at,
        expiresAt: expires_at,
      })),
    }
  }
}

async function* orderRecords(
  db: Kysely<Tables>,
  statuses: readonly OrderStatus[],
): AsyncGenerator<Record<string, unknown>> {
  const rows = db.selectFrom('orders').selectAll().where('status', 'in', statuses).orderBy('id').stream()
  for await (const row of rows) {
    const { customer_name, customer_email } = row
    yield {
      type: 'order',
      id: row.id,
      petId: row.pet_id,
      status: row.status,
      customer:
        customer_name === null
          ? null
          : { name: customer_name, ...(customer_email !== null && { email: customer_email }) },
      note: row.note,
      placedAt: row.placed_at,
      updatedAt: row.updated_at,
      holdExpiresAt: row.hold_expires_at,
      cancelReason: row.cancel_reason,
    }
  }
}
