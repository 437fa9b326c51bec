import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { byResource } from '../../src/commands/counts.ts'
import { noCounts } from '../../src/records/resource.ts'
import {
  assertCommandFails,
  assertSameExport,
  cliOnNewDatabase,
  countsOf,
  countsText,
  petsIn,
} from '../support/commands.ts'
import { contentsOf, inDatabase } from '../support/engine.ts'
import { reverseCleanup } from '../support/reverseCleanup.ts'
import { serviceFor } from '../support/service.ts'

const openOrder = (id: number, petId: number) => ({
  ...{ type: 'order', id, petId, status: 'approved', customer: null, note: null },
  ...{ placedAt: 1, updatedAt: 2, holdExpiresAt: null, cancelReason: null },
})

describe('an external id', { concurrency: 2 }, () => {
  test('identifies an animal, is exported, and is not part of the API or of events', async (t) => {
    const cleanup = reverseCleanup(t)
    const cli = await cliOnNewDatabase(cleanup)
    const feed = (name: string) => `{"externalId":"secret-7","name":"${name}","categoryId":1}`
    await cli.ok(['import'], `${feed('first')}\n{"name":"other","categoryId":1}\n${feed('second')}`)
    await cli.ok(['import'], feed('third'))
    await cli.ok(['import'], '{"id":2,"name":"other","categoryId":1,"externalId":"secret-8"}')
    const pet = { type: 'pet', categoryId: 1, status: 'available' }
    assert.deepEqual(await petsIn(cli), [
      { ...pet, id: 1, name: 'third', externalId: 'secret-7' },
      { ...pet, id: 2, name: 'other', externalId: 'secret-8' },
    ])
    const exported = await cli.export()
    const second = await cliOnNewDatabase(t)
    await second.ok(['import', '--with-keys'], exported)
    assertSameExport(await second.export(), exported)

    const server = await serviceFor(cleanup, cli.env)
    const key = server.operatorKey
    const read = async (path: string) => (await server.request('GET', path, { key })).text
    for (const path of ['/v1/pets', '/v1/pets/1', '/v1/events'])
      assert.doesNotMatch(await read(path), /secret|external/)
    assert.equal((await server.request('PATCH', '/v1/pets/1', { key, body: { status: 'sold' } })).status, 200)
    assert.deepEqual((await petsIn(cli))[0], {
      ...pet,
      id: 1,
      name: 'third',
      status: 'sold',
      externalId: 'secret-7',
    })
    await cli.ok(['import'], feed('third'))
    assert.equal((await petsIn(cli))[0].status, 'sold', 'a line without a status leaves it')
  })

  const pet = (fields: object) => JSON.stringify({ name: 'x', categoryId: 1, ...fields })

  test('of "null" is not that of an animal without one', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import'], pet({ id: 1, name: 'first' }))
    const text = [pet({ id: 1, name: 'changed' }), pet({ externalId: 'null', name: 'new' })].join('\n')
    assert.deepEqual((await cli.json(['import'], text)).changes.pets, { added: 1, changed: 1, unchanged: 0 })
    assert.deepEqual(
      (await petsIn(cli)).map(({ name }) => name),
      ['changed', 'new'],
    )
  })

  test('belongs to its source', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const text = ['a', 'b'].map((source) => pet({ externalId: '7', source, name: source })).join('\n')
    await cli.ok(['import'], text)
    await cli.ok(['import'], pet({ externalId: '7', source: 'b', name: 'changed' }))
    assert.deepEqual(
      (await petsIn(cli)).map(({ name, source }) => [name, source]),
      [
        ['a', 'a'],
        ['changed', 'b'],
      ],
    )
  })

  test('of another animal makes a line wrong, in the database and in the file', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import'], [pet({ id: 1, externalId: 'a' }), pet({ id: 2 })].join('\n'))
    const text = [
      ...Array.from({ length: 3_000 }, () => pet({})),
      pet({ id: 2, externalId: 'a' }),
      pet({ id: 5_001, externalId: 'b' }),
      pet({ externalId: 'b', name: 'the same' }),
      pet({ id: 5_002, externalId: 'b' }),
      pet({ externalId: 'c' }),
      pet({ id: 5_003, externalId: 'c' }),
      JSON.stringify(openOrder(1, 5_002)),
      pet({ id: 5_004, externalId: 'd' }),
      JSON.stringify(openOrder(2, 5_004)),
    ].join('\n')
    const wrong =
      'Line 3001: Animal 2 cannot have the external id "a", because animal 1 has it.\n' +
      'Line 3004: Animal 5002 cannot have the external id "b", because animal 5001 has it.\n' +
      'Line 3006: Animal 5003 cannot have the external id "c", because line 3005 adds an animal with it.\n' +
      'Line 3007: the order is open, but there is no animal 5002\n'
    const before = await contentsOf(cli.env)
    const failed = await cli.run(['import'], text)
    assert.deepEqual([failed.code, failed.stderr], [1, `${wrong}Nothing was imported.\n`])
    const dry = await cli.run(['import', '--dry-run'], text)
    assert.deepEqual([dry.code, dry.stderr], [1, wrong])
    assert.match(
      dry.stdout,
      /^This would add 3003 animals, change 1 and leave 0 unchanged\..* 4 lines are wrong/,
    )
    assert.deepEqual(await contentsOf(cli.env), before)
    const skipped = await cli.run(['import', '--skip-bad'], text)
    assert.deepEqual([skipped.code, skipped.stderr], [3, wrong])
    assert.ok(skipped.stdout.startsWith(`Imported ${countsText({ pets: 3_004, orders: 1 })}`), skipped.stdout)
    assert.deepEqual(
      (await petsIn(cli)).flatMap(({ id, name, externalId }) => (externalId ? [[id, name, externalId]] : [])),
      [
        [1, 'x', 'a'],
        [5_001, 'the same', 'b'],
        [5_004, 'x', 'd'],
        [8_005, 'x', 'c'],
      ],
    )
  })

  test('that an earlier line gives up is free', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import'], [pet({ id: 1, externalId: 'a' }), pet({ id: 2, externalId: 'b' })].join('\n'))
    const text = [
      pet({ id: 1, externalId: 'c' }),
      pet({ id: 2, externalId: 'a' }),
      pet({ id: 1, externalId: 'b' }),
      pet({ id: 3, externalId: 'c' }),
    ].join('\n')
    assert.match(await cli.ok(['import', '--dry-run'], text), /^This would add 1 animal, change 3 /)
    await cli.ok(['import'], text)
    assert.deepEqual(
      (await petsIn(cli)).map(({ id, externalId }) => [id, externalId]),
      [
        [1, 'b'],
        [2, 'a'],
        [3, 'c'],
      ],
    )
  })
})

describe('wrong lines', { concurrency: 2 }, () => {
  const good = (name: string) => `{"name":"${name}","categoryId":1}`

  test('an open order for an animal that is nowhere is one of them', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const text = [good('a'), JSON.stringify(openOrder(1, 7))].join('\n')
    const message = /^Line 2: the order is open, but there is no animal 7\nNothing was imported\.\n$/
    assertCommandFails(await cli.run(['import'], text), 1, message)
    assert.deepEqual(await petsIn(cli), [])
    assert.equal((await cli.run(['import', '--skip-bad'], text)).code, 3)
    assert.equal((await petsIn(cli)).length, 1)
    await cli.ok(['import'], `{"id":7,"name":"seven","categoryId":1}\n${text}`)
    assert.equal((await petsIn(cli)).find(({ id }) => id === 7).status, 'pending')
  })
})

test('a second open order for an animal is a wrong line, and nothing is imported', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const pet = (id: number) => `{"id":${id},"name":"Pet ${id}","categoryId":1}`
  const order = (id: number, petId: number, status = 'approved') =>
    JSON.stringify({ ...openOrder(id, petId), status })
  const reason = (id: number) => `the order is open, but animal 1 has the open order ${id}`
  const text = [pet(1), pet(2), order(1, 1), order(2, 1), order(3, 2)].join('\n')
  const { code, stdout } = await cli.run(['import', '--dry-run', '--json'], text)
  assert.deepEqual([code, JSON.parse(stdout).problems], [1, [{ line: 4, reason: reason(1) }]])
  const message = new RegExp(`^Line 4: ${reason(1)}\nNothing was imported\\.\n$`)
  assertCommandFails(await cli.run(['import'], text), 1, message)
  assert.deepEqual(await petsIn(cli), [])
  assert.equal((await cli.run(['import', '--skip-bad'], text)).code, 3)
  assert.equal((await petsIn(cli)).length, 2)
  // The other order is in the database.
  const conflict = new RegExp(`^Line 1: ${reason(1)}\nNothing was imported\\.\n$`)
  assertCommandFails(await cli.run(['import'], order(4, 1)), 1, conflict)
  // An earlier line can end an order, or move it to another animal.
  await cli.ok(
    ['import'],
    [order(1, 1, 'delivered'), order(4, 1), pet(3), order(4, 3), order(5, 1)].join('\n'),
  )
  await cli.ok(['import'], [order(5, 1), order(5, 1, 'cancelled'), order(6, 1)].join('\n'))
  // An order whose hold has expired is not open.
  const held = { ...openOrder(6, 1), status: 'placed', holdExpiresAt: 3 }
  await cli.ok(['import'], [JSON.stringify(held), order(7, 1)].join('\n'))
  await cli.ok(['import'], order(7, 1))
})

test('an import counts what it has added, changed and left unchanged, as its dry run does', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const key = (id: number, name: string) => ({
    ...{
      type: 'key',
      id,
      name,
      plan: 'free',
      perMinute: null,
      perDay: null,
      scopes: ['pets:read'],
      origins: [],
    },
    ...{ isFromSetting: false, createdAt: id, expiresAt: null, revokedAt: null, unbannedAt: 0 },
    secrets: [{ hash: String(id).repeat(64), createdAt: id, expiresAt: null }],
  })
  const category = (id: number, name: string) => ({ type: 'category', id, name })
  const animal = (id: number, name: string) => ({ type: 'pet', id, name, categoryId: 1, status: 'sold' })
  const order = (id: number, note: string) => ({ ...openOrder(id, id), status: 'delivered', note })
  const ndjson = (...records: object[]) => records.map((record) => JSON.stringify(record)).join('\n')
  const make = [category, order, animal, key]
  const args = ['import', '--with-keys']
  await cli.ok(args, ndjson(...make.flatMap((one) => [one(1, 'same'), one(2, 'before')])))

  const text = ndjson(...make.flatMap((one) => [one(1, 'same'), one(2, 'after'), one(3, 'new')]))
  const each = { added: 1, changed: 1, unchanged: 1 }
  const changes = { ...byResource(noCounts), pets: each, categories: each, orders: each, keys: each }
  const counts = countsOf({ pets: 3, categories: 3, orders: 3, keys: 3 })
  const dry = await cli.json([...args, '--dry-run'], text)
  assert.deepEqual(dry.changes, changes)
  assert.match(
    await cli.ok([...args, '--dry-run'], text),
    /^This would add 1 animal, change 1 and leave 1 unchanged\. The file has 3 categories \(1 added, 1 changed\), 3 orders \(1 added, 1 changed\)(?:, 0 [\w ]+ \(0 added, 0 changed\))* and 3 keys \(1 added, 1 changed\)\./,
  )
  const imported = await cli.json(args, text)
  assert.deepEqual(imported, { ...counts, changes, keysRenumbered: 0, keysUnchanged: 0 })
  assert.equal(
    await cli.ok(args, text),
    `Imported ${countsText(counts)}: 0 added, 0 changed, 12 unchanged.\n`,
  )
})

describe('a dry run', { concurrency: 2 }, () => {
  test('shows what would change, and changes nothing', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import'], '{"name":"one","categoryId":1}\n{"externalId":"b","name":"two","categoryId":1}')
    const before = await contentsOf(cli.env)
    const text = [
      '{"id":1,"name":"one","categoryId":1,"status":"available"}',
      '{"externalId":"b","name":"changed","categoryId":1}',
      '{"externalId":"c","name":"new","categoryId":1}',
      '{"externalId":"c","name":"again","categoryId":1}',
      '{"name":"wrong"}',
    ].join('\n')
    const { code, stdout } = await cli.run(['import', '--dry-run', '--json'], text)
    assert.deepEqual(JSON.parse(stdout), {
      dryRun: true,
      pets: { added: 1, updated: 2, unchanged: 1 },
      categories: { added: 0, updated: 0, unchanged: 0 },
      orders: 0,
      keys: 0,
      changes: { ...byResource(noCounts), pets: { added: 1, changed: 2, unchanged: 1 } },
      wrongLines: 1,
      problems: [{ line: 5, reason: 'categoryId is required' }],
    })
    assert.equal(code, 1)
    assert.match(
      await cli.ok(['import', '--dry-run'], '{"name":"x","categoryId":1}'),
      /^This would add 1 animal, /,
    )
    assert.deepEqual(await contentsOf(cli.env), before)
  })

  test('counts a profile that is named twice as the import does', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const profile = (species: string) => JSON.stringify({ type: 'profile', id: 1, species })
    const lines = [profile('dog'), profile('dog'), profile('cat')]
    const text = ['{"id":1,"name":"one","categoryId":1}', ...lines].join('\n')
    const counts = { added: 1, changed: 1, unchanged: 1 }
    assert.deepEqual((await cli.json(['import', '--dry-run'], text)).changes.profiles, counts)
    assert.deepEqual((await cli.json(['import'], text)).changes.profiles, counts)
  })

  test('needs no database and creates none', async (t) => {
    const cli = await cliOnNewDatabase(t, {}, { isBare: true })
    for (const _ of [1, 2])
      assert.match(
        await cli.ok(['import', '--dry-run'], '{"name":"x","categoryId":1}'),
        /^This would add 1 animal, /,
      )
  })
})

test('an interrupted import continues after the last line that it has committed', async (t) => {
  const cli = await cliOnNewDatabase(t)
  await cli.ok(['import'], '{"name":"stop","categoryId":1}')
  const change = (text: string) =>
    inDatabase(cli.env, (database) => database.write((trx) => sql.raw(text).execute(trx)))
  await change(`CREATE UNIQUE INDEX stop ON pets (name) WHERE name = 'stop'`)
  const added = Array.from({ length: 5_500 }, (_, at) => `{"name":"new ${at}","categoryId":1}`)
  const text = [...added, '{"name":"stop","categoryId":1}', ...added].join('\n')
  const { code } = await cli.run(['import'], text)
  assert.equal(code, 1)
  const interrupted = (await petsIn(cli)).length - 1
  assert.ok(interrupted > 0 && interrupted <= 5_500)
  const [record] = (await contentsOf(cli.env)).imports as [string]
  assert.equal(record.split(',')[1], String(interrupted))

  const dryRun = await cli.json(['import', '--dry-run'], text)
  assert.deepEqual([dryRun.resumedAfterLine, dryRun.pets.added], [interrupted, 11_001 - interrupted])
  assert.match(
    await cli.ok(['import', '--dry-run'], text),
    new RegExp(
      `^The import would continue after line ${interrupted}, where it was interrupted\\. This would add `,
    ),
  )
  await change('DROP INDEX stop')
  const { resumedAfterLine, pets } = await cli.json(['import'], text)
  assert.deepEqual([resumedAfterLine, pets], [interrupted, 11_001 - interrupted])
  assert.equal((await petsIn(cli)).length, 11_002)
  assert.deepEqual((await contentsOf(cli.env)).imports, [])
})
