import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { eventIdMax, lastEventId as newestEventId } from '../../src/events/queries.ts'
import { resources } from '../../src/resources.ts'
import {
  addEventfulData,
  assertCommandFails,
  assertSameExport,
  cliOn,
  cliOnNewDatabase,
  countsText,
  importOfNew,
  int64Max,
  int64Min,
  keyChangeMs,
  lines,
  withoutTimes,
} from '../support/commands.ts'
import { inDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { SuiteCleanup } from '../support/servers.ts'
import { serviceFor, type TestService } from '../support/service.ts'

test('seed adds animals that a running service returns', async (t) => {
  const service = await serviceFor(t)
  const cli = cliOn(service.databaseEnv)
  assert.equal(await cli.ok(['seed', '--count', '7']), 'Added 7 animals.\n')
  assert.deepEqual(await cli.json(['seed', '--count', '3']), { added: 3 })
  const { json } = await service.request('GET', '/v1/pets?limit=100', { key: service.operatorKey })
  assert.equal(new Set(json.map(({ id }: { id: number }) => id)).size, 10)
})

describe('without a database', { concurrency: 2 }, () => {
  // test/commands/commandLine.test.ts has the other commands.
  test('import creates it and says so', async (t) => {
    const cli = await cliOnNewDatabase(t, {}, { isBare: true })
    const { code, stderr } = await cli.run(['import'])
    assert.equal(code, 0, stderr)
    assert.match(
      stderr,
      /^Creating the (?:database \/.*petstore\.db|tables in the PostgreSQL database at .*)\.\n$/,
    )
  })

  test('export fails and creates none', async (t) => {
    const cli = await cliOnNewDatabase(t, {}, { isBare: true })
    const message =
      /^There is no database at .*petstore\.db\.|^There are no tables in the PostgreSQL database at /
    for (const _ of [1, 2]) assertCommandFails(await cli.run(['export']), 1, message)
  })
})

describe('export and import', { concurrency: 2 }, () => {
  /** No test here changes this database. */
  let first: TestService
  let exported: string
  const lasting = new SuiteCleanup()
  before(async () => {
    first = await serviceFor(lasting)
    await addEventfulData(first)
    exported = await cliOn(first.databaseEnv).export()
  })
  after(() => lasting.end())

  test('transfer all data: ids, int64 extremes and unusual names, and no id is assigned twice', async (t) => {
    const cleanup = reverseCleanup(t)
    const second = await cliOnNewDatabase(cleanup)
    assert.match(
      await second.ok(['import', '--with-keys'], exported),
      new RegExp(
        `^Imported ${countsText({ pets: 3, categories: 5, orders: 1, keys: 1 })}: 10 added, 0 changed, 0 unchanged\\.\n$`,
      ),
    )
    assertSameExport(await second.export(), exported)
    await second.ok(['import', '--with-keys'], exported)
    assertSameExport(await second.export(), exported)

    const server = await serviceFor(cleanup, second.env)
    const [there, here] = await Promise.all(
      [first, server].map((each) => each.request('GET', '/v1/pets', { key: first.operatorKey })),
    )
    assert.equal(here?.status, 200, 'a key of the first database works in the second')
    assert.equal(here?.text, there?.text)
    assert.match(here?.text ?? '', new RegExp(int64Min))
    assert.match(here?.text ?? '', new RegExp(int64Max))
    const added = await server.request('POST', '/v1/pets', {
      key: first.operatorKey,
      body: { name: 'next', categoryId: 1 },
    })
    assert.equal(added.json.id, 8)
  })

  test('work while servers are running on both databases', async (t) => {
    const second = await serviceFor(t)
    const { operatorKey } = first
    const moved = await cliOn(first.databaseEnv).export()
    const counts = await cliOn(second.databaseEnv).json(['import', '--with-keys'], moved)
    const added = importOfNew({ pets: 3, categories: 5, orders: 1, keys: 1 })
    const expected = { ...added, keysRenumbered: 1, keysUnchanged: 0 }
    assert.deepEqual(counts, expected)
    const shows = async () => (await second.request('GET', '/v1/pets', { key: operatorKey })).status === 200
    await eventually('the key of the first database works in the second', shows, keyChangeMs)
    const { text } = await second.request('GET', '/v1/pets', { key: operatorKey })
    assert.equal(text, (await first.request('GET', '/v1/pets', { key: operatorKey })).text)
    const { status } = await second.request('GET', '/v1/pets', { key: second.operatorKey })
    assert.equal(status, 200, 'the operator key of the second database is not replaced')
  })

  test('handle more animals than one batch', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['seed', '--count', '1203'])
    const exported = await cli.export()
    assert.equal(lines(exported).filter((line) => line.includes('"type":"pet"')).length, 1203)
    const second = await cliOnNewDatabase(t)
    await second.ok(['import', '--with-keys'], exported)
    assertSameExport(await second.export(), exported)
  })

  test('never lower the next id: a database that has assigned more ids continues from there', async (t) => {
    const ahead = await cliOnNewDatabase(t)
    await ahead.ok(['seed', '--count', '10'])
    const behind = await cliOnNewDatabase(t)
    await behind.ok(['seed', '--count', '2'])
    await ahead.ok(['import', '--with-keys'], await behind.export())
    await ahead.ok(['import'], '{"name":"next","categoryId":1}')
    assert.match(await ahead.export(), /"id":11,"name":"next"/)
  })

  test('into a database with the same PETSTORE_ADMIN_KEY keep that key valid, also after the next start', async (t) => {
    const adminKey = 'the-same-admin-key-in-both-deployments'
    const cleanup = reverseCleanup(t)
    const clis = [await cliOnNewDatabase(cleanup), await cliOnNewDatabase(cleanup)] as const
    // In the second database the same secret has another id.
    for (const name of ['one', 'two']) await clis[1].ok(['keys', 'create', '--name', name])
    const operators: string[] = []
    const services: TestService[] = []
    for (const cli of clis) {
      services.push(await serviceFor(cleanup, { ...cli.env, PETSTORE_ADMIN_KEY: adminKey }))
      operators.push(
        lines(await cli.export()).find((line) => line.includes('"isFromSetting":true')) as string,
      )
    }
    assert.notEqual(operators[0], operators[1])
    for (const [index, cli] of clis.entries()) {
      await cli.ok(['import', '--with-keys'], operators[1 - index])
      const service = services[index] as TestService
      await service.restart()
      assert.equal((await service.request('GET', '/v1/keys', { key: adminKey })).status, 200)
    }
  })

  test('an animal without an id is given none that another line has', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const nameless = Array.from({ length: 500 }, (_, n) => `{"name":"New ${n}","categoryId":1}`)
    const named = Array.from({ length: 100 }, (_, n) => `{"id":${n + 1},"name":"Old ${n}","categoryId":1}`)
    await cli.ok(['import'], [...nameless, ...named].join('\n'))
    const pets = lines(await cli.export()).filter((line) => line.includes('"type":"pet"'))
    assert.equal(pets.length, 600)
    assert.equal(pets.filter((line) => line.includes('"name":"Old')).length, 100)
  })

  test('ids may be far apart and in any order', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const line = (id: number, name: string) =>
      `{"type":"pet","id":${id},"name":"${name}","categoryId":1,"status":"available"}`
    await cli.ok(['import'], [5, 900_000, 2, 70_000, 1].map((id) => line(id, 'first')).join('\n'))
    await cli.ok(['import'], [70_000, 3, 2, 4_000_000, 900_000].map((id) => line(id, 'second')).join('\n'))
    assert.deepEqual(
      lines(withoutTimes(await cli.export())).filter((each) => each.includes('"type":"pet"')),
      [
        line(1, 'first'),
        line(2, 'second'),
        line(3, 'second'),
        line(5, 'first'),
        line(70_000, 'second'),
        line(900_000, 'second'),
        line(4_000_000, 'second'),
      ],
    )
  })

  test('start with the highest assigned ids', async () => {
    const [head = ''] = lines(exported)
    const { lastEventId, ...rest } = JSON.parse(head)
    const none = Object.fromEntries(resources.flatMap(({ counter }) => (counter ? [[counter.name, 0]] : [])))
    assert.deepEqual(rest, {
      ...{ type: 'petstore', format: 1 },
      ...{ ...none, lastPetId: 7, lastKeyId: 1, lastOrderId: 1 },
    })
    const newest = await inDatabase(first.databaseEnv, async (database) => {
      await database.readableThrough()
      return newestEventId(database.read, eventIdMax)
    })
    assert.equal(lastEventId, newest)
  })

  test('an animal with the highest id is listed, and another one can be added', async (t) => {
    const server = await serviceFor(t)
    const cli = cliOn(server.databaseEnv)
    await cli.ok(['import'], `{"id":${2 ** 52},"name":"far out","categoryId":1}`)
    const key = server.operatorKey
    const body = { name: 'one more', categoryId: 1 }
    assert.equal((await server.request('POST', '/v1/pets', { key, body })).json.id, 2 ** 52 + 1)
    const ids = (await server.request('GET', '/v1/pets', { key })).json.map(({ id }: { id: number }) => id)
    assert.deepEqual(ids, [2 ** 52 + 1, 2 ** 52])
  })
})
