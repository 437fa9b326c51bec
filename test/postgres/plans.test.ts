import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import { eraseFromIdempotencyRecords, pruneIdempotencyRecords } from '../../src/api/idempotency.ts'
import { generateApiKey, hashApiKey } from '../../src/auth/apiKey.ts'
import { ApiKeyCache } from '../../src/auth/apiKeyCache.ts'
import { createKnownSecrets } from '../../src/auth/knownSecrets.ts'
import { postgresKeyStore } from '../../src/auth/postgresKeyStore.ts'
import { isCategoryUsed, listCategories } from '../../src/categories/queries.ts'
import type { Database } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { eventIdMax, eventsAfter, lastEventId, pruneEvents } from '../../src/events/queries.ts'
import { findKey, listKeys } from '../../src/keys/queries.ts'
import { PostgresRateLimiter } from '../../src/limits/postgresRateLimiter.ts'
import { findListings } from '../../src/listings/queries.ts'
import { orderStatuses } from '../../src/orders/order.ts'
import {
  expireDueHolds,
  findOpenOrderForUpdate,
  findOrder,
  hasDueHolds,
  ordersPageQuery,
} from '../../src/orders/queries.ts'
import { findPetsOf } from '../../src/pets/importPets.ts'
import { findPet, type PetFilter, petsPageQuery } from '../../src/pets/queries.ts'
import { claimDelivery, dueLanes } from '../../src/webhooks/attempts.ts'
import { deleteWebhookAndDeliveries, failPendingDeliveries } from '../../src/webhooks/cutoffs.ts'
import { findDelivery, listDeliveries, pruneDeliveries } from '../../src/webhooks/deliveries.ts'
import { hasUndispatchedEvents } from '../../src/webhooks/dispatch.ts'
import { markWebhookDeleted } from '../../src/webhooks/queries.ts'
import { type DatabaseEnv, newDatabase, openTestDatabase, removeDatabase } from '../support/engine.ts'
import { withQueryListener } from '../support/statements.ts'

const animals = 20_000
const half = animals / 2
const others = 10_000
const pageMax = 101

const big = [
  'pets',
  'categories',
  'orders',
  'events',
  'webhook_deliveries',
  'api_keys',
  'api_key_secrets',
  'key_usage',
  'idempotency_records',
  'address_usage',
]

let env: DatabaseEnv
let database: Database

const secret = generateApiKey('production')

/**
 * A database after years of use, with a distribution that a planner based on averages does not expect: what is sold is old and what
 * is available is new, few animals are pending, one category has a quarter of all animals and another one had its
 * time long ago, one animal was ordered again and again, and one endpoint has not responded for days.
 */
const filling = [
  `INSERT INTO categories (category_id) SELECT n FROM generate_series(0, 4999) n`,
  `INSERT INTO pets (name, external_id, category_id, status)
    SELECT 'Pet', CASE WHEN n % 2 = 0 THEN 'e' || n END, CASE WHEN n <= ${half} AND n % 2 = 0 THEN 7 WHEN n <= ${animals / 10} THEN 8 ELSE 100 + n % 4900 END,
      CASE WHEN n % ${animals / 10} = 5 THEN 'pending' WHEN n <= ${half} THEN 'sold' ELSE 'available' END
    FROM generate_series(1, ${animals}) n`,
  `INSERT INTO orders (pet_id, status, placed_at, updated_at)
    SELECT CASE WHEN n % 4 = 0 AND n < ${others / 2} THEN 7 ELSE 5000 + n % 5000 END,
      CASE WHEN n < ${others / 2} THEN 'delivered' ELSE 'cancelled' END, n, n FROM generate_series(1, ${others}) n`,
  `INSERT INTO orders (pet_id, status, placed_at, updated_at, hold_expires_at)
    SELECT n, CASE n % 2 WHEN 0 THEN 'approved' ELSE 'placed' END, n, n, CASE n % 2 WHEN 0 THEN NULL ELSE 10000 + n END
    FROM generate_series(1001, 2000) n`,
  `INSERT INTO events (type, created_at, data, is_private)
    SELECT 'pet.updated', 1000000 + n, '{}', CASE WHEN n BETWEEN ${others / 5} AND ${(others / 5) * 4} THEN 1 ELSE 0 END
    FROM generate_series(1, ${others}) n`,
  `INSERT INTO webhooks (url, events, from_event_id, status, secret, created_at)
    SELECT 'https://example.org/' || n, '["pet.updated"]', n, 'enabled', 'secret', n FROM generate_series(1, 50) n`,
  `INSERT INTO webhook_deliveries (webhook_id, event_id, event_type, event_at, data, status, attempts, next_attempt_at,
      claimed_until, created_at)
    SELECT 1 + n % 50, n, 'pet.updated', n, '{}', 'delivered', 1, NULL, 0, 1000000 + n
    FROM generate_series(1, ${others / 2}) n`,
  `INSERT INTO webhook_deliveries (webhook_id, event_id, event_type, event_at, data, status, attempts, next_attempt_at,
      claimed_until, created_at)
    SELECT 7, n, 'pet.updated', n, '{}', 'pending', n % 2, 1000 + n, 0, 1000000 + n
    FROM generate_series(${others / 2}, ${others}) n`,
  `INSERT INTO api_keys (name, plan, scopes, origins, from_setting, created_at, unbanned_at)
    SELECT 'key', 'free', '["pets:read"]', '[]', 0, n, 0 FROM generate_series(1, 10000) n`,
  `INSERT INTO api_key_secrets SELECT md5(n::text) || md5(n::text), n, n, NULL FROM generate_series(2, 10000) n`,
  `INSERT INTO api_key_secrets VALUES ('${hashApiKey(secret)}', 1, 1, NULL)`,
  `INSERT INTO key_usage SELECT n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM generate_series(1, 10000) n`,
  `INSERT INTO idempotency_records
    SELECT n % 1000, 'key ' || n, 'fingerprint', 201, '{}', '{}', 1000000 + n, CASE n % 50 WHEN 0 THEN 'order ' || n END
    FROM generate_series(1, ${others}) n`,
  `INSERT INTO address_usage
    SELECT 'address ' || n, 0, 1, ${Date.now() + 10_000_000}, 1 FROM generate_series(1, ${others}) n`,
]

before(async () => {
  env = await newDatabase()
  database = await openTestDatabase(env)
  await database.migrate(async (trx) => {
    // Without checks: the rows are known to be valid, and there are many.
    await sql`SET LOCAL session_replication_role = replica`.execute(trx)
    for (const statement of filling) await sql.raw(statement).execute(trx)
    await sql`ANALYZE`.execute(trx)
  })
})
after(async () => {
  await database.close()
  await removeDatabase(env)
})

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Plan[]
}

const stepsOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(stepsOf)]

const readIn = (plan: Plan) =>
  (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']

const shown = (plan: Plan) =>
  stepsOf(plan)
    .map(
      (step) =>
        `${step['Node Type']} ${step['Relation Name'] ?? ''} ${step['Index Name'] ?? ''} ${readIn(step)}`,
    )
    .join('; ')

/**
 * Executes a query as its connection would, and undoes it: by the plan for these values, and by the generic plan for
 * values. A statement that is prepared gets either, as PostgreSQL sees fit.
 */
async function plansOf({
  sql: text,
  parameters,
}: Pick<CompiledQuery, 'sql' | 'parameters'>): Promise<Plan[]> {
  const values = parameters.map((value) =>
    Array.isArray(value)
      ? `'{${value.join()}}'`
      : typeof value === 'string'
        ? pg.escapeLiteral(value)
        : String(value),
  )
  const plans: Plan[] = []
  const undone = new Error('undone')
  await database
    .migrate(async (trx) => {
      for (const mode of ['force_custom_plan', 'force_generic_plan']) {
        await sql.raw(`SAVEPOINT before_plan`).execute(trx)
        await sql.raw(`SET LOCAL plan_cache_mode = ${mode}`).execute(trx)
        await sql.raw(`PREPARE planned AS ${text}`).execute(trx)
        const call = values.length === 0 ? 'planned' : `planned(${values.join()})`
        const { rows } = await sql
          .raw<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE ${call}`)
          .execute(trx)
        plans.push((rows[0] as (typeof rows)[number])['QUERY PLAN'][0].Plan)
        await sql.raw('DEALLOCATE planned').execute(trx)
        await sql.raw(`ROLLBACK TO SAVEPOINT before_plan`).execute(trx)
      }
      throw undone
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error
    })
  return plans
}

/** How many blocks may be read per returned row: a few rows are skipped, each found by an index of several levels. */
const rowsPerRow = 3
const blocksPerRow = 5

async function assertReadsFor(rowsShown: number, query: Pick<CompiledQuery, 'sql' | 'parameters'>) {
  const rowsMax = rowsShown * rowsPerRow
  for (const plan of await plansOf(query)) {
    const text = `${query.sql}\n${JSON.stringify(query.parameters, (_, value) => (typeof value === 'bigint' ? Number(value) : value))}\n${shown(plan)}`
    for (const step of stepsOf(plan)) {
      const relation = step['Relation Name']
      assert.ok(!(relation && big.includes(relation) && /Seq Scan/.test(step['Node Type'])), text)
      // The rows of a page may be sorted, never all rows that match.
      assert.ok(readIn(step) <= rowsMax, `${readIn(step)} rows: ${text}`)
    }
    const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    assert.ok(blocks <= 50 + rowsMax * blocksPerRow, `${blocks} blocks: ${text}`)
  }
}

const hundredIds = Array.from({ length: 100 }, (_, index) => BigInt(animals - index * 97))
const petFilters: Record<string, PetFilter> = {}
for (const status of [undefined, 'available', 'pending', 'sold'] as const) {
  for (const categoryId of [undefined, 7n, 8n, 4_000n]) {
    for (const ids of [undefined, [BigInt(animals)], hundredIds]) {
      const words = [status, categoryId !== undefined && `category ${categoryId}`, ids && `${ids.length} ids`]
      petFilters[words.filter(Boolean).join(' + ') || 'no filter'] = { status, categoryId, id: ids }
    }
  }
}

describe('a page reads few more rows than it returns, in a large database with skewed data', () => {
  for (const [what, filter] of Object.entries(petFilters)) {
    test(`animals: ${what}`, async () => {
      for (const belowId of [undefined, half - 500, 50])
        await assertReadsFor(pageMax, petsPageQuery(database.read, pageMax, belowId, filter).compile())
    })
  }

  for (const status of [undefined, ...orderStatuses]) {
    for (const petId of [undefined, 7n, 6_000n]) {
      test(`orders: ${status ?? 'any status'}, animal ${petId ?? 'any'}`, async () => {
        for (const belowId of [undefined, others / 2, 50])
          await assertReadsFor(
            pageMax,
            ordersPageQuery(database.read, pageMax, belowId, { status, petId }).compile(),
          )
      })
    }
  }
})

/** Does the work, rolls it back, and returns every query that it made. */
async function queriesOf(work: (trx: Trx) => Promise<unknown>): Promise<CompiledQuery[]> {
  const made: CompiledQuery[] = []
  const undone = new Error('undone')
  await database
    .write(async (trx) => {
      await work(withQueryListener(trx, (query) => made.push(query)))
      throw undone
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error
    })
  return made
}

const dayMs = 24 * 60 * 60 * 1000
const pieceMax = 1_000
const works: [what: string, work: (trx: Trx) => Promise<unknown>, rowsMax?: number][] = [
  [
    'animals of an import by their external ids',
    (db) =>
      findPetsOf(
        db,
        [2_000, 9_000, 16_000].map((n) => ({ externalId: `e${n}` })),
      ),
    3,
  ],
  ['one animal', async (db) => findPet(db, 5n), 1],
  ['whether an animal uses a category', (db) => isCategoryUsed(db, 7n), 1],
  ['whether an animal uses a category that none does', (db) => isCategoryUsed(db, 9n), 1],
  ['a page of categories', (db) => listCategories(db, pageMax, 3n)],
  ['the first page of categories', (db) => listCategories(db, pageMax)],
  ['one order', (db) => findOrder(db, 5), 1],
  ['the open order of an animal', (db) => findOpenOrderForUpdate(db, 1_500n), 1],
  ['the open order of an animal that has none', (db) => findOpenOrderForUpdate(db, 7n), 1],
  ['whether a hold has expired', (db) => hasDueHolds(db, 20_000), 1],
  ['whether a hold has expired if none has', (db) => hasDueHolds(db, 0), 1],
  ['the holds that have expired', (db) => expireDueHolds(db, 11_030)],
  ['the first page of events', (db) => eventsAfter(db, 0, pageMax, false, eventIdMax)],
  [
    'a page of events after many that are private',
    (db) => eventsAfter(db, others / 5 - 10, pageMax, false, eventIdMax),
  ],
  ['a page of all events', (db) => eventsAfter(db, others / 2, pageMax, true, eventIdMax)],
  ['the newest event', (db) => lastEventId(db, eventIdMax), 1],
  [
    'a search',
    (db) => assert.rejects(findListings(db, pageMax, undefined, { q: 'luna' }, 0), /being built/),
    1,
  ],
  ['expired events', (db) => pruneEvents(db, Number.MAX_SAFE_INTEGER), pieceMax],
  ['whether there is something to dispatch', (db) => hasUndispatchedEvents(db, eventIdMax)],
  ['lanes that are due', (db) => dueLanes(db, others * 2)],
  ['lanes that are due where none is', (db) => dueLanes(db, 0)],
  ['the next delivery', (db) => claimDelivery(db, { webhookId: 7, lane: 'first' }, others * 2)],
  ['the next retry', (db) => claimDelivery(db, { webhookId: 7, lane: 'retry' }, others * 2)],
  ['a page of deliveries', (db) => listDeliveries(db, 7, pageMax, others)],
  ['a page of older deliveries', (db) => listDeliveries(db, 8, pageMax)],
  ['one delivery', (db) => findDelivery(db, 8, 7), 1],
  ['the end of deliveries', (db) => failPendingDeliveries(db, 7, 0, ['pet.updated']), pieceMax],
  [
    'the deletion of deliveries',
    async (db) => {
      await markWebhookDeleted(db, 8)
      await deleteWebhookAndDeliveries(db, 8, 0)
    },
    pieceMax,
  ],
  ['expired deliveries', (db) => pruneDeliveries(db, Number.MAX_SAFE_INTEGER), 2 * pieceMax],
  ['a page of keys', (db) => listKeys(db, pageMax, 5_000)],
  ['one key', (db) => findKey(db, 5), 1],
  [
    'a key by its secret',
    async (db) => new ApiKeyCache({ ...database, read: db }, 'production').find(secret, 0),
    1,
  ],
  ['idempotency records to erase', (db) => eraseFromIdempotencyRecords(db, 'order 50', (json) => json), 1],
  ['expired idempotency records', (db) => pruneIdempotencyRecords(db, dayMs + 1_000_500), pieceMax],
]

describe('queries use an index, in a large database with skewed data', () => {
  for (const [what, work, rowsMax = pageMax] of works) {
    test(what, async () => {
      const queries = await queriesOf(work)
      assert.ok(queries.length > 0)
      for (const query of queries) await assertReadsFor(rowsMax, query)
    })
  }
})

test('counting a request scans no table', async () => {
  const scansOf = async () => {
    const { rows } = await sql<{ relname: string; scans: number }>`
      SELECT relname, seq_scan AS scans FROM pg_stat_user_tables WHERE relname = ANY(${big}) ORDER BY relname`.execute(
      database.read,
    )
    return rows
  }
  const counting = await openTestDatabase(env)
  const limiter = new PostgresRateLimiter({
    database: counting,
    clock: Date.now,
    banAfterRejections: 100,
    limitClock: undefined,
  })
  const keys = postgresKeyStore(
    new ApiKeyCache(counting, 'production'),
    limiter,
    createKnownSecrets(counting),
  )
  const consume = (token: string | undefined, address: string) =>
    keys.consume(token, { authorization: undefined, address, isChange: false, rateLimitExempt: false })
  const before = await scansOf()
  for (let n = 0; n < 20; n++) {
    const { decision } = await consume(secret, '192.0.2.1')
    assert.equal(decision?.outcome, 'admitted')
    await keys.find(secret)
    await consume(generateApiKey('production'), `192.0.2.${n}`)
    await consume(undefined, '192.0.2.1')
  }
  // The statistics of a connection are visible to others when it has ended.
  await counting.close()
  assert.deepEqual(await scansOf(), before)
})
