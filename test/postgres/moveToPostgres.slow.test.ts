import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openMigrated } from '../../src/database/open.ts'
import { assertSameExport, importOfNew, int64Max, int64Min, lines } from '../support/commands.ts'
import { type DatabaseEnv, newDatabase, removeDatabase } from '../support/engine.ts'
import { runPetstore, runShell } from '../support/process.ts'
import { assertError } from '../support/responses.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { folderFor } from '../support/servers.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { proxyFor } from '../support/tcpProxy.ts'

/** The import may find no database, or one without tables. */
const creation = /^(?:Creating the (?:database|tables in the PostgreSQL database at) \S+\.\n)?$/

type After = Pick<TestContext, 'after'>

const adminKey = 'the-admin-key-of-the-moving-test'
const origin = 'https://shop.example'
const startAt = Date.now()

/** An empty URL selects SQLite, although this run uses PostgreSQL. */
const embeddedFor = (t: After): DatabaseEnv => ({ PETSTORE_DATA_DIR: folderFor(t), DATABASE_URL: '' })

/** An empty database. */
async function bareDatabaseFor(t: After): Promise<DatabaseEnv> {
  const env = await newDatabase({ isBare: true })
  t.after(() => removeDatabase(env))
  return env
}

async function serve(t: After, env: DatabaseEnv): Promise<TestService> {
  const service = await startTestService({ ...env, PETSTORE_ADMIN_KEY: adminKey }, { startAt })
  t.after(() => service.stop())
  return service
}

const exportOf = async (env: DatabaseEnv): Promise<string> => {
  const { code, stdout, stderr } = await runPetstore(['export'], env)
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  return stdout
}

/** Pipes an export into an import, as an operator does. Returns the output of the import. */
async function move(from: DatabaseEnv, to: DatabaseEnv) {
  const line = `"$NODE" "$MAIN" export |
    PETSTORE_DATA_DIR="$TO_FOLDER" DATABASE_URL="$TO_ADDRESS" "$NODE" "$MAIN" import --with-keys --json`
  const { stdout, stderr } = await runShell(line, {
    ...from,
    TO_FOLDER: to.PETSTORE_DATA_DIR,
    TO_ADDRESS: String(to.DATABASE_URL),
  })
  assert.match(stderr, creation)
  const { keysRenumbered, keysUnchanged, ...counts } = JSON.parse(stdout)
  assert.deepEqual([keysRenumbered, keysUnchanged], [0, 0])
  return counts
}

type Call = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<TestService['request'] extends (...args: never[]) => Promise<infer A> ? A : never>

const callerOn =
  (service: TestService): Call =>
  async (method, path, body) => {
    const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
    const response = await service.request(method, path, {
      key: adminKey,
      headers,
      ...(body !== undefined && { body }),
    })
    assert.ok(response.status < 300, `${method} ${path}: ${response.text}`)
    return response
  }

type Secrets = Record<'plain' | 'own' | 'publishable' | 'before' | 'after' | 'revoked', string>

/** Creates every kind of data through the API. The last row of each kind is deleted again. */
async function fill(call: Call): Promise<Secrets> {
  const pet = async (name: string, categoryId: string, status = 'available'): Promise<number> =>
    (
      await call(
        'POST',
        '/v1/pets',
        JSON.stringify({ name, status }).replace('{', `{"categoryId":${categoryId},`),
      )
    ).json.id
  await pet('Least', int64Min)
  await pet('Greatest', int64Max, 'sold')
  await pet('Łuna "the" 🐾 \n\u2028 end', '9007199254740993', 'pending')
  await pet('Minus one', '-1')
  const order = async (fields: object, ...statuses: string[]): Promise<number> => {
    const petId = await pet('Ordered', '1000')
    const { id } = (await call('POST', '/v1/store/orders', { petId, ...fields })).json
    for (const status of statuses) await call('PATCH', `/v1/store/orders/${id}`, { status })
    return id
  }
  const customer = { name: 'Zoë "the" Łast 🐾\u2028', email: 'zoe@example.com' }
  await order({ customer, note: 'Has a garden.\n' })
  await order({ customer: { name: 'Only a name' } }, 'approved')
  await order({ customer }, 'approved', 'delivered')
  await order({ customer }, 'cancelled')
  await call('DELETE', `/v1/store/orders/${await order({ customer }, 'cancelled')}/customer`)
  await call('DELETE', `/v1/pets/${await pet('Gone', '2')}`)
  await call('POST', '/v1/categories', { name: 'Rabbits' })
  const { id } = (await call('POST', '/v1/categories', { name: 'Gone' })).json
  await call('DELETE', `/v1/categories/${id}`)

  const key = async (settings: object) =>
    (await call('POST', '/v1/keys', { name: 'a key', ...settings })).json as { id: number; key: string }
  const { key: plain } = await key({ plan: 'business' })
  const { key: own } = await key({
    plan: 'enterprise',
    limits: { perMinute: 7, perDay: 70, streams: 5 },
    expiresAt: '2999-01-01T00:00:00Z',
  })
  const { key: publishable } = await key({ origins: [origin] })
  const rotated = await key({ scopes: ['pets:read'] })
  const { key: after } = (await call('POST', `/v1/keys/${rotated.id}/rotate`, { overlapSeconds: 3_600 })).json
  const revoked = await key({})
  await call('DELETE', `/v1/keys/${revoked.id}`)
  return { plain, own, publishable, before: rotated.key, after, revoked: revoked.key }
}

/** All lists of the API, page by page. The last use of a key is not exported. */
async function seenOf(call: Call): Promise<string[]> {
  const paths = ['/v1/pets', '/v1/store/orders', '/v1/categories', '/v1/store/inventory', '/v1/keys']
  const texts: string[] = []
  for (const path of paths)
    texts.push((await call('GET', path)).text.replaceAll(/,"lastUsedAt":(?:null|"[^"]*")/g, ''))
  return texts
}

async function assertSecretsWork(service: TestService, secrets: Secrets): Promise<void> {
  const limitOf = async (key: string, headers = {}) => {
    const { status, headers: responded } = await service.request('GET', '/v1/pets', { key, headers })
    return [status, responded['ratelimit-policy']]
  }
  const policy = (minute: number, day: number) => `"minute";q=${minute};w=60, "day";q=${day};w=86400`
  assert.deepEqual(await limitOf(secrets.plain), [200, policy(1_000, 100_000)])
  assert.deepEqual(await limitOf(secrets.own), [200, policy(7, 70)])
  assert.deepEqual(await limitOf(secrets.publishable, { origin }), [200, policy(60, 1_000)])
  assertError(
    await service.request('GET', '/v1/pets', { key: secrets.publishable }),
    403,
    'origin_not_allowed',
  )
  assert.deepEqual(await limitOf(secrets.before), [200, policy(60, 1_000)], 'until the overlap ends')
  assert.deepEqual(await limitOf(secrets.after), [200, policy(60, 1_000)])
  assertError(
    await service.request('GET', '/v1/store/orders', { key: secrets.after }),
    403,
    'insufficient_scope',
  )
  const revoked = await service.request('GET', '/v1/pets', { key: secrets.revoked })
  assertError(revoked, 401, 'invalid_api_key')
  assert.match(revoked.json.message, /revoked/)
}

// biome-ignore lint/suspicious/noExplicitAny: the test reads records of every shape.
const headOf = (exported: string): Record<string, any> => JSON.parse(lines(exported)[0] as string)

const large = 20_000

describe('an export and import', { concurrency: 3 }, () => {
  test('from SQLite to PostgreSQL through a pipe, and back, moves everything: keys, ids and the feed', async (t) => {
    const undo = reverseCleanup(t)
    const from = embeddedFor(undo)
    const to = await bareDatabaseFor(undo)
    const old = await serve(undo, from)
    const secrets = await fill(callerOn(old))
    const seen = await seenOf(callerOn(old))
    const exported = await exportOf(from)
    const { lastPetId, lastOrderId, lastKeyId, lastCategoryId, lastEventId } = headOf(exported)
    const newestEvent = Number((await callerOn(old)('GET', '/v1/events?limit=1')).headers['last-event-id'])
    assert.equal(lastEventId, newestEvent)

    assert.deepEqual(await move(from, to), importOfNew({ pets: 9, categories: 7, orders: 5, keys: 6 }))
    assertSameExport(await exportOf(to), exported)

    const moved = await serve(undo, to)
    const call = callerOn(moved)
    assert.deepEqual(await seenOf(call), seen)
    await assertSecretsWork(moved, secrets)

    // A mirror that is behind cannot know what it missed. One that is current continues.
    for (const after of [0, 1, newestEvent - 1]) {
      const rejected = await moved.request('GET', `/v1/events?after=${after}`, { key: adminKey })
      assertError(rejected, 410, 'events_expired')
    }
    const { json: events } = await call('GET', `/v1/events?after=${newestEvent}&limit=1000`)
    assert.ok(events.length > 0)
    for (const { id } of events) assert.ok(id > newestEvent)

    const add = async (path: string, body: unknown) => (await call('POST', path, body)).json.id
    const petId = await add('/v1/pets', { name: 'Next', categoryId: 1 })
    assert.ok(petId > lastPetId, 'the id of a deleted pet is not assigned again')
    assert.equal(await add('/v1/store/orders', { petId }), lastOrderId + 1)
    assert.equal(await add('/v1/keys', { name: 'next' }), lastKeyId + 1)
    assert.equal(await add('/v1/categories', { name: 'Next' }), lastCategoryId + 1)

    const back = embeddedFor(undo)
    await move(to, back)
    assertSameExport(await exportOf(back), await exportOf(to))
    const again = await serve(undo, back)
    assert.deepEqual(await seenOf(callerOn(again)), await seenOf(call))
    await assertSecretsWork(again, secrets)
  })

  test(`of many pets (${large}) uses several commits`, async (t) => {
    const undo = reverseCleanup(t)
    const from = embeddedFor(undo)
    const to = await bareDatabaseFor(undo)
    const database = await openMigrated({ dataDir: from.PETSTORE_DATA_DIR }, 0)
    await database.write(async (trx) => {
      const categories = Array.from({ length: 50 }, (_, n) => ({ category_id: BigInt(n), name: null }))
      await trx.insertInto('categories').values(categories).execute()
      for (let start = 0; start < large; start += 1_000) {
        const pets = Array.from({ length: 1_000 }, (_, n) => ({
          name: `Pet ${start + n} 🐾`,
          category_id: BigInt(n % 50),
          status: ['available', 'pending', 'sold'][n % 3] as string,
        }))
        await trx.insertInto('pets').values(pets).execute()
      }
    })
    await database.close()
    const startedAt = performance.now()
    assert.deepEqual(await move(from, to), importOfNew({ pets: large, categories: 50 }))
    t.diagnostic(`moved in ${Math.round(performance.now() - startedAt)} ms`)
    assertSameExport(await exportOf(to), await exportOf(from))
  })

  test('over a slow connection completes', async (t) => {
    const undo = reverseCleanup(t)
    const to = await bareDatabaseFor(undo)
    const proxy = await proxyFor(undo, to.DATABASE_URL as string)
    // Five hundred pets, one chunk of an import, would exceed the bound of a commit.
    proxy.delay(1)
    const pets = Array.from({ length: 600 }, (_, n) => ({ id: n + 1, name: `Pet ${n}`, categoryId: n % 50 }))
    const { code, stdout, stderr } = await runPetstore(
      ['import', '--json'],
      { ...to, DATABASE_URL: proxy.through(to.DATABASE_URL as string) },
      pets.map((pet) => JSON.stringify(pet)).join('\n'),
    )
    assert.equal(code, 0, stderr)
    assert.match(stderr, creation)
    assert.equal(JSON.parse(stdout).pets, pets.length)
  })
})
