import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { byService } from '../../src/audit/audit.ts'
import { pruneAuditEntries, recordAudit } from '../../src/audit/queries.ts'
import { ensureCategories } from '../../src/categories/queries.ts'
import { readBatches } from '../../src/commands/export/lines.ts'
import type { Database } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { defaultResource as petResource } from '../../src/resources.ts'
import { addUsage } from '../../src/usage/queries.ts'
import { insertDeliveries, pruneDeliveries } from '../../src/webhooks/deliveries.ts'
import { type DatabaseEnv, newDatabase, openTestDatabase, removeDatabase } from '../support/engine.ts'
import { recordStatements } from '../support/statements.ts'
import { useService } from '../support/useService.ts'

// The engines keep a bounded number of prepared statements. One text for each number of rows would use them up.

const sizes = [...Array.from({ length: 40 }, (_, index) => index + 1), 499, 500, 501, 1_000]
const farFuture = Date.UTC(2200, 0, 1)

const upTo = <T>(size: number, make: (n: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => make(index + 1))

describe('the texts of statements do not depend on the number of', () => {
  let env: DatabaseEnv
  let database: Database
  before(async () => {
    env = await newDatabase()
    database = await openTestDatabase(env)
    await database.write(async (trx) => {
      await trx
        .insertInto('webhooks')
        .values({
          ...{ url: 'https://example.org', events: '[]', from_event_id: 0, status: 'enabled' },
          ...{ secret: 's', created_at: 0 },
        })
        .execute()
    })
  })
  after(async () => {
    await database.close()
    await removeDatabase(env)
  })

  const deliveries = (size: number) =>
    upTo(size, (n) => ({
      webhook_id: 1,
      event_id: n,
      event_type: 'pet.created',
      event_at: n,
      data: '{"id":"é\'"}',
    }))

  const works: [what: string, textsMax: number, work: (trx: Trx, size: number) => Promise<unknown>][] = [
    ['deliveries that are dispatched', 2, (trx, size) => insertDeliveries(trx, deliveries(size), 0)],
    [
      'deliveries that are pruned',
      5,
      async (trx, size) => {
        await insertDeliveries(trx, deliveries(size), 0)
        assert.ok((await pruneDeliveries(trx, farFuture)) >= size)
      },
    ],
    [
      'audit entries that are pruned',
      4,
      async (trx, size) => {
        for (let n = 0; n < Math.min(size, 40); n++)
          await recordAudit(trx, byService(0), 'key.created', `key ${n}`)
        await pruneAuditEntries(trx, farFuture)
      },
    ],
    [
      'usage counts that are flushed',
      2,
      (trx, size) =>
        addUsage(
          trx,
          upTo(size, (n) => ({ key_id: n, bucket_ms: 60_000, starts_at: 0, name: 'requests', count: 1 })),
        ),
    ],
    ['categories of an import', 5, (trx, size) => ensureCategories(trx, upTo(size, BigInt), 0)],
    [
      'animals of an import',
      24,
      async (trx, size) => {
        // Far apart: a dense range of ids is read as a range.
        const records = (name: string) =>
          upTo(size, (n) => ({
            type: 'pet' as const,
            id: n * 1_000,
            name,
            categoryId: 1n,
            status: 'available' as const,
            externalId: `x ${n}`,
          }))
        await petResource.apply(trx, records(`new ${size}`), 0)
        await petResource.apply(trx, records(`changed ${size}`), 0)
      },
    ],
    [
      'animals of an export',
      2,
      (trx, size) => {
        const selection = { column: 'id', values: upTo(size, (n) => n * 1_000) }
        return Array.fromAsync(readBatches((work) => work(trx), petResource, selection))
      },
    ],
  ]
  for (const [what, textsMax, work] of works)
    test(what, async (t) => {
      const texts = recordStatements(t)
      for (const size of sizes) await database.write((trx) => work(trx, size))
      const control = /^\s*(?:BEGIN|COMMIT|ROLLBACK|SET|SELECT append_changes_\d)/
      const found = [...texts].filter((text) => !control.test(text))
      assert.ok(
        found.length <= textsMax,
        `${found.length} texts, for example ${found.slice(0, 3).join('\n')}`,
      )
      for (const text of found) assert.ok(text.length < 30_000)
    })
})

describe('GET /pets', () => {
  const service = useService()
  test('uses few statement texts for 1 to 100 ids', async (t) => {
    const key = service.operatorKey
    for (const name of ['Milo', 'Otis', 'Juno'])
      await service.request('POST', '/v1/pets', { key, body: { name, categoryId: 1 } })
    const texts = recordStatements(t)
    for (let size = 1; size <= 100; size++) {
      const query = upTo(size, (n) => `id=${n}`).join('&')
      const { status, json } = await service.request('GET', `/v1/pets?limit=100&${query}`, { key })
      assert.equal(status, 200)
      assert.deepEqual(
        json.map(({ id }: { id: number }) => id),
        [3, 2, 1].filter((id) => id <= size),
      )
    }
    const found = [...texts].filter((text) => /from "pets"/.test(text))
    assert.ok(found.length <= 2, `${found.length} texts`)
  })
  test('finds nothing for ids that no animal can have', async () => {
    const ids = ['-9223372036854775808', '-1', '0', '9007199254740993', '9223372036854775807']
    for (const query of [ids.map((id) => `id=${id}`).join('&'), ...ids.map((id) => `id=${id}`)]) {
      const { status, json } = await service.request('GET', `/v1/pets?${query}`, { key: service.operatorKey })
      assert.deepEqual([status, json], [200, []])
    }
  })
})
