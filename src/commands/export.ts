import { once } from 'node:events'
import { toJson } from '../api/json.ts'
import { lastAssignedCategoryId } from '../categories/queries.ts'
import type { SqlDialect } from '../database/dialect.ts'
import type { Db } from '../database/tables.ts'
import type { OrderStatus } from '../orders/order.ts'
import { parseArguments } from './cli.ts'
import { withDatabase } from './database.ts'
import { formatVersion } from './import/records.ts'

const usage = `petstore export [--without-keys] > petstore.ndjson

Writes all data as NDJSON: animals, categories, orders, keys (hashes only, no secrets) and counters. The export is
consistent, and a server can use the database at the same time. Webhooks are not exported. "petstore import --with-keys"
reads the file.

  --without-keys  leaves out keys and counters; "petstore import" then reads the file without --with-keys

The file contains names of customers. Make sure that only you can read it (umask 077).`

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values } = parseArguments(args, usage, {
    json: { type: 'boolean' },
    'without-keys': { type: 'boolean' },
  })
  const withKeys = !values['without-keys']
  await withDatabase(env, (database) =>
    database.snapshot(async (db) => {
      for await (const record of exportRecords(db, database.dialect, withKeys)) {
        if (!process.stdout.write(`${toJson(record)}\n`)) await once(process.stdout, 'drain')
      }
    }),
  )
}

type JsonRecord = Record<string, unknown>

async function* exportRecords(db: Db, dialect: SqlDialect, withKeys: boolean): AsyncGenerator<JsonRecord> {
  yield { type: 'petstore', format: formatVersion, ...(withKeys && (await counters(db, dialect))) }
  for await (const row of db.selectFrom('categories').selectAll().orderBy('category_id').stream())
    yield { type: 'category', id: row.category_id, name: row.name }
  // The order matters to an import: closed orders release their pets before the records of the pets set the status, and
  // open orders find their pets.
  yield* exportOrders(db, ['delivered', 'cancelled'])
  for await (const row of db.selectFrom('pets').selectAll().orderBy('id').stream())
    yield { type: 'pet', id: row.id, name: row.name, categoryId: row.category_id, status: row.status }
  yield* exportOrders(db, ['placed', 'approved'])
  if (withKeys) yield* exportKeys(db)
}

const counters = async (db: Db, dialect: SqlDialect) => ({
  lastPetId: await dialect.lastAssignedId(db, 'pets'),
  lastKeyId: await dialect.lastAssignedId(db, 'api_keys'),
  lastCategoryId: await lastAssignedCategoryId(db),
  lastOrderId: await dialect.lastAssignedId(db, 'orders'),
  lastEventId: await dialect.lastAssignedId(db, 'events'),
})

async function* exportOrders(db: Db, statuses: readonly OrderStatus[]): AsyncGenerator<JsonRecord> {
  const orders = db.selectFrom('orders').selectAll().where('status', 'in', statuses).orderBy('id')
  for await (const row of orders.stream())
    yield {
      type: 'order',
      id: row.id,
      petId: row.pet_id,
      status: row.status,
      customer:
        row.customer_name === null
          ? null
          : { name: row.customer_name, email: row.customer_email ?? undefined },
      note: row.note,
      placedAt: row.placed_at,
      updatedAt: row.updated_at,
      holdExpiresAt: row.hold_expires_at,
      cancelReason: row.cancel_reason,
    }
}

async function* exportKeys(db: Db): AsyncGenerator<JsonRecord> {
  for await (const row of db.selectFrom('api_keys').selectAll().orderBy('id').stream()) {
    const secrets = await db
      .selectFrom('api_key_secrets')
      .select(['hash', 'created_at as createdAt', 'expires_at as expiresAt'])
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
      secrets,
    }
  }
}
