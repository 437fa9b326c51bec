import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, type TestContext, test } from 'node:test'
import { backupDatabase } from '../../src/database/sqlite/backup.ts'
import { restoreDatabase } from '../../src/database/sqlite/restore.ts'
import {
  assertCommandFails,
  assertSameExport,
  cliOn,
  countsOf,
  countsText,
  eventfulServer,
  keyChangeMs,
  lines,
} from '../support/commands.ts'
import { assertIntegrity, contentsOf, temporaryFolder } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { folderFor, serverFor, stopped } from '../support/servers.ts'
import { startTestService } from '../support/service.ts'
import { holdWriteLock } from '../support/writeLock.ts'

/** Commands on the database in a folder. */
const cliIn = (dataDir: string, more: Record<string, string> = {}) =>
  cliOn({ PETSTORE_DATA_DIR: dataDir }, more)

describe('a command that cannot be executed exits with status 1 and a reason', { concurrency: 2 }, () => {
  const scenarios: [name: string, args: (folder: string) => string[], message: RegExp][] = [
    ['there is nothing to back up', (folder) => ['backup', join(folder, 'copy')], /There is no database at/],
    ['a backup would overwrite', (folder) => ['backup', folder], /exists already/],
    [
      'the folder of a backup does not exist',
      (folder) => ['backup', join(folder, 'missing', 'copy')],
      /^The folder .*missing does not exist\. Create it first/,
    ],
    [
      'a backup to restore is missing',
      (folder) => ['restore', join(folder, 'none')],
      /There is no file .*none/,
    ],
  ]
  for (const [name, args, message] of scenarios) {
    test(name, async (t) => {
      const folder = folderFor(t)
      assertCommandFails(await cliIn(join(folder, 'data')).run(args(folder)), 1, message)
    })
  }
})

describe('backup and restore', { concurrency: 2 }, () => {
  test('restore a database exactly, into an empty folder', async (t) => {
    const folder = folderFor(t)
    const first = await eventfulServer(t)
    const cli = cliOn(first.databaseEnv)
    const file = join(folder, 'copy.db')
    const counts = { pets: 3, categories: 5, orders: 1, keys: 1 }
    assert.match(
      await cli.ok(['backup', file]),
      new RegExp(`^Backed up \\d+ bytes to .*copy\\.db: ${countsText(counts)}\\.\n$`),
    )
    assert.deepEqual(readdirSync(folder), ['copy.db'])
    assert.equal(statSync(file).mode & 0o077, 0, 'only the owner can read the key hashes')
    const second = cliIn(join(folder, 'restored'))
    assert.deepEqual(await second.json(['restore', file]), {
      file,
      bytes: statSync(file).size,
      rows: countsOf(counts),
    })
    assertSameExport(await second.export(), await cli.export())
    assert.deepEqual(readdirSync(folder).sort(), ['copy.db', 'restored'], 'no other file is left')
    const server = await serverFor(t, second.env)
    assert.equal((await server.request('GET', '/v1/pets', { key: first.operatorKey })).status, 200)
  })

  test('--json reports what was written', async (t) => {
    const folder = folderFor(t)
    const cli = cliIn(join(folder, 'data'))
    await cli.ok(['seed', '--count', '100'])
    const file = join(folder, 'copy.db')
    const { file: written, bytes, rows } = await cli.json(['backup', file])
    assert.deepEqual([written, bytes], [file, statSync(file).size])
    assert.deepEqual(rows, countsOf({ pets: 100, categories: 6 }))
  })

  test('restore changes an existing database only with --replace', async (t) => {
    const folder = folderFor(t)
    const cli = cliIn(join(folder, 'data'))
    await cli.ok(['seed', '--count', '1'])
    await cli.ok(['backup', join(folder, 'copy.db')])
    await cli.ok(['seed', '--count', '1'])
    const before = await cli.export()
    assertCommandFails(
      await cli.run(['restore', join(folder, 'copy.db')]),
      1,
      /There is already a database in .*Use --replace/,
    )
    assert.equal(await cli.export(), before)
    await cli.ok(['restore', join(folder, 'copy.db'), '--replace'])
    assert.equal(lines(await cli.export()).filter((line) => line.includes('"type":"pet"')).length, 1)
  })

  test('restore --replace under a running server, which continues and then shows the restored pets', async (t) => {
    const folder = folderFor(t)
    const server = await serverFor(t)
    const key = server.operatorKey
    const cli = cliOn(server.databaseEnv)
    await cli.ok(['seed', '--count', '3000'])
    await cli.ok(['backup', join(folder, 'copy.db')])
    const before = await server.request('GET', '/v1/pets?limit=100', { key })
    await cli.ok(['seed', '--count', '50'])
    const added = await server.request('POST', '/v1/pets', { key, body: { name: 'after', categoryId: 77 } })
    assert.equal(added.json.id, 3051)

    let isRestoring = true
    const statuses: number[] = []
    const readers = Array.from({ length: 4 }, async () => {
      while (isRestoring) statuses.push((await server.request('GET', '/v1/pets?limit=1', { key })).status)
    })
    await cli.ok(['restore', join(folder, 'copy.db'), '--replace'])
    isRestoring = false
    await Promise.all(readers)
    assert.ok(statuses.length > 0)
    assert.deepEqual(new Set(statuses), new Set([200]), 'every request was served')

    assert.equal((await server.request('GET', '/v1/pets?limit=100', { key })).text, before.text)
    const next = await server.request('POST', '/v1/pets', { key, body: { name: 'next', categoryId: 1 } })
    assert.equal(next.json.id, 3001)
    assert.equal((await stopped(server)).code, 0)
    assertIntegrity(server.databaseEnv)
    assert.deepEqual(
      readdirSync(server.dataDir).filter((name) => name.startsWith('restore-')),
      [],
    )
  })

  test('restore fails on a database that is locked by a write, and changes nothing', async (t) => {
    const folder = folderFor(t)
    const cli = cliIn(join(folder, 'data'))
    await cli.ok(['seed', '--count', '3'])
    await cli.ok(['backup', join(folder, 'copy.db')])
    await cli.ok(['seed', '--count', '3'])
    const before = await cli.export()
    const lock = await holdWriteLock(t, join(cli.dataDir, 'petstore.db'))
    assertCommandFails(
      await cli.run(['restore', join(folder, 'copy.db'), '--replace']),
      1,
      /is locked by a write: try again later/,
    )
    await lock.release()
    assert.equal(await cli.export(), before)
  })

  test('a second backup to the same file at the same time is rejected', async (t) => {
    const folder = folderFor(t)
    const cli = cliIn(join(folder, 'data'))
    await cli.ok(['seed', '--count', '3'])
    const target = join(folder, 'copy.db')
    const first = backupDatabase(join(cli.dataDir, 'petstore.db'), target, { tables: { pets: 'pets' } })
    await assert.rejects(backupDatabase(join(cli.dataDir, 'petstore.db'), target), {
      message: `Another backup to ${target} is running.`,
    })
    assert.equal((await first).rows.pets, 3)
    assert.deepEqual(readdirSync(folder).sort(), ['copy.db', 'data'])
  })

  test('a second restore at the same time is rejected, and does not disturb the first one', async (t) => {
    const folder = folderFor(t)
    const cli = cliIn(join(folder, 'data'))
    await cli.ok(['seed', '--count', '3'])
    const backup = join(folder, 'copy.db')
    await cli.ok(['backup', backup])
    await cli.ok(['seed', '--count', '3'])
    const restoreAgain = async () => {
      const second = await cli.run(['restore', backup, '--replace'])
      assertCommandFails(second, 1, /^Another restore of \S+ is running: try again later\.\n$/)
    }
    const options = { tables: { pets: 'pets' } }
    const { rows } = await restoreDatabase(backup, cli.dataDir, Date.now(), restoreAgain, options)
    assert.equal(rows.pets, 3)
    assert.equal(lines(await cli.ok(['export', '--format', 'csv'])).length, 1 + 3)
  })

  /** A database with three pets whose file is then overwritten, and a backup from before. */
  async function damagedDatabase(t: TestContext, damage: Buffer) {
    const folder = folderFor(t)
    const cli = cliIn(join(folder, 'data'))
    await cli.ok(['seed', '--count', '3'])
    const before = await cli.export()
    const backup = join(folder, 'copy.db')
    await cli.ok(['backup', backup])
    writeFileSync(join(cli.dataDir, 'petstore.db'), damage)
    return { cli, before, backup }
  }

  for (const [name, damage] of [
    ['garbage', Buffer.from('no database '.repeat(1_000))],
    ['half a page', Buffer.from('SQLite format 3\0'.padEnd(2_000, 'x'))],
  ] as const) {
    test(`restore --replace over a damaged database (${name}), which is moved aside`, async (t) => {
      const { cli, before, backup } = await damagedDatabase(t, damage)
      assertCommandFails(await cli.run(['export']), 1, /cannot be opened .*restore a backup/)
      await cli.ok(['restore', backup, '--replace'])
      assertSameExport(await cli.export(), before)
      assertIntegrity(cli.env)
      const [aside, ...others] = readdirSync(cli.dataDir).filter((file) =>
        /^petstore\.db\.damaged-\d+$/.test(file),
      )
      assert.deepEqual(others, [])
      assert.deepEqual(readFileSync(join(cli.dataDir, String(aside))), damage)
    })
  }

  test('restore does not replace a damaged database that a server has open', async (t) => {
    const folder = folderFor(t)
    const server = await serverFor(t)
    const cli = cliOn(server.databaseEnv)
    const backup = join(folder, 'copy.db')
    await cli.ok(['backup', backup])
    const file = join(server.dataDir, 'petstore.db')
    // Otherwise the log still has every page of a new database.
    const connection = new DatabaseSync(file, { timeout: 30_000 })
    assert.equal(connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy, 0)
    connection.close()
    const damage = Buffer.from('no database '.repeat(1_000))
    writeFileSync(file, damage)
    assertCommandFails(
      await cli.run(['restore', backup, '--replace']),
      1,
      /Another petstore server is running on .*: stop it/,
    )
    assert.deepEqual(readFileSync(file), damage)
  })

  test('a live restore resets the cached counts of keys, and applies PETSTORE_ADMIN_KEY again', async (t) => {
    const folder = folderFor(t)
    const adminKey = 'the-admin-key-of-this-deployment'
    const backup = join(folder, 'copy.db')
    // An earlier database: another admin key, and a key without usage.
    const old = cliIn(join(folder, 'old'))
    await stopped(
      await serverFor(t, {
        ...old.env,
        PETSTORE_ADMIN_KEY: 'the-admin-key-of-another-deployment',
      }),
    )
    const { id, key } = await old.json(['keys', 'create', '--name', 'counted'])
    await old.ok(['backup', backup])

    const server = await serverFor(t, { PETSTORE_ADMIN_KEY: adminKey })
    const cli = cliOn(server.databaseEnv)
    const other = await cli.json(['keys', 'create', '--name', 'vanishes'])
    assert.equal(other.id, id, 'both databases have a key with this id')
    const send = (secret: string) => server.request('GET', '/v1/pets', { key: secret })
    for (let left = 59; left >= 50; left--)
      assert.equal((await send(other.key)).headers['x-ratelimit-remaining'], String(left))

    // Listing the keys writes their counts to the database.
    assert.equal((await server.request('GET', '/v1/keys', { key: adminKey })).status, 200)

    await cli.ok(['restore', backup, '--replace'])
    const left = async () => (await server.request('GET', '/v1/limits', { key })).json.minute.remaining
    await eventually(
      'what the vanished key used is forgotten',
      async () => (await left()) === 60,
      keyChangeMs,
    )
    assert.equal((await send(key)).headers['x-ratelimit-remaining'], '59')
    assert.equal((await send(other.key)).status, 401)
    await eventually(
      'the setting holds',
      async () => (await server.request('GET', '/v1/keys', { key: adminKey })).status === 200,
      keyChangeMs,
    )
    assert.equal((await send('the-admin-key-of-another-deployment')).status, 401)
  })

  for (const [what, spoil] of [
    ['does not have', async () => {}],
    ['has as a revoked one', (old: ReturnType<typeof cliIn>) => old.ok(['keys', 'revoke', '1'])],
  ] as const) {
    test(`after a live restore of a database that ${what} the key of PETSTORE_ADMIN_KEY, the key never receives 401`, async (t) => {
      const folder = folderFor(t)
      const adminKey = 'the-admin-key-of-this-deployment'
      const backup = join(folder, 'copy.db')
      const old = cliIn(join(folder, 'old'))
      const other = what === 'does not have' ? `${adminKey}-before` : adminKey
      await stopped(await serverFor(t, { ...old.env, PETSTORE_ADMIN_KEY: other }))
      await spoil(old)
      await old.ok(['backup', backup])

      const service = await startTestService({ PETSTORE_ADMIN_KEY: adminKey })
      t.after(() => service.stop())
      // Not used before, so that it is not cached; and requested before the next poll for changes.
      await restoreDatabase(backup, service.dataDir, 0, async () => {})
      const requested = Array.from({ length: 3 }, () => service.request('GET', '/v1/keys', { key: adminKey }))
      const statuses = (await Promise.all(requested)).map(({ status }) => status)
      assert.deepEqual(statuses, [200, 200, 200])
      if (other !== adminKey)
        assert.equal((await service.request('GET', '/v1/keys', { key: other })).status, 401)
    })
  }

  test('a live restore of a database without keys creates no key: the next start creates and shows it', async (t) => {
    const folder = folderFor(t)
    const backup = join(folder, 'copy.db')
    const old = cliIn(join(folder, 'old'))
    await old.ok(['seed', '--count', '1'])
    await old.ok(['backup', backup])
    const server = await serverFor(t)
    const cli = cliOn(server.databaseEnv)
    await cli.ok(['restore', backup, '--replace'])
    const isNoticed = async () =>
      (await server.request('GET', '/v1/pets', { key: server.operatorKey })).status === 401
    await eventually('the restore is detected', isNoticed, keyChangeMs)
    // The list comes after the write that follows the detection, if there is one.
    assert.equal(await cli.ok(['keys', 'list']), '')
    assert.equal((await stopped(server)).code, 0)
    assert.match((await serverFor(t, server.databaseEnv)).operatorKey ?? '', /^ps_live_/)
  })

  for (const [version, change, message] of [
    ['newer', "INSERT INTO schema_migrations VALUES (99, 'from the future', 0)", /schema version 99/],
    [
      'unreleased',
      "UPDATE schema_migrations SET name = 'first-release'",
      /^This database was made by an unreleased version\./,
    ],
  ] as const)
    test(`a backup of a ${version} version is rejected and changes nothing`, async (t) => {
      const folder = folderFor(t)
      const cli = cliIn(join(folder, 'data'))
      await cli.ok(['seed', '--count', '3'])
      const before = await cli.export()
      const file = join(folder, 'copy.db')
      await cli.ok(['backup', file])
      const database = new DatabaseSync(file)
      database.exec(change)
      database.close()
      assertCommandFails(await cli.run(['restore', file, '--replace']), 1, message)
      assert.equal(await cli.export(), before)
    })
})

describe('a file that is not a complete backup is rejected and changes nothing', { concurrency: 2 }, () => {
  const scenarios: [name: string, damage: (whole: Buffer) => Buffer][] = [
    ['empty', () => Buffer.alloc(0)],
    ['garbage', () => Buffer.from('this is no database at all '.repeat(1000))],
    ['truncated in the middle of a page', (whole) => whole.subarray(0, whole.length - 1000)],
    ['truncated by half', (whole) => whole.subarray(0, 4096 * Math.floor(whole.length / 8192))],
    ['truncated to its first page', (whole) => whole.subarray(0, 4096)],
    ['overwritten in the middle', (whole) => Buffer.from(whole).fill(0xa5, 4096, 20_000)],
    ['a database of something else', otherDatabase],
  ]
  let folder: string
  let cli: ReturnType<typeof cliIn>
  let backup: string
  let contents: Awaited<ReturnType<typeof contentsOf>>
  before(async () => {
    folder = temporaryFolder()
    cli = cliIn(join(folder, 'data'))
    await cli.ok(['seed', '--count', '300'])
    backup = join(folder, 'copy.db')
    await cli.ok(['backup', backup])
    contents = await contentsOf(cli.env)
    assert.equal(contents.pets?.length, 300)
  })
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  for (const [index, [name, damage]] of scenarios.entries()) {
    test(name, async () => {
      const bad = join(folder, `bad-${index}.db`)
      writeFileSync(bad, damage(readFileSync(backup)))
      assertCommandFails(
        await cli.run(['restore', bad, '--replace']),
        1,
        /bad-\d\.db is not a complete backup of a petstore database/,
      )
      assert.deepEqual(await contentsOf(cli.env), contents)
      const place = `new-${index}`
      assertCommandFails(
        await cliIn(join(folder, place)).run(['restore', bad]),
        1,
        /is not a complete backup/,
      )
      assert.ok(!readdirSync(folder).includes(place) || readdirSync(join(folder, place)).length === 0)
    })
  }

  test('a folder', async () => {
    const place = join(folder, 'new-for-folder')
    assertCommandFails(
      await cliIn(place).run(['restore', folder]),
      1,
      new RegExp(`${RegExp.escape(folder)} is not a complete backup of a petstore database`),
    )
    assert.ok(!existsSync(place))
  })

  function otherDatabase(): Buffer {
    const database = new DatabaseSync(':memory:')
    database.exec('CREATE TABLE something (x)')
    const bytes = Buffer.from(database.serialize())
    database.close()
    return bytes
  }
})

test('after a restore, callers that follow the events receive 410 and have to list again', async (t) => {
  const service = await startTestService()
  t.after(() => service.stop())
  const add = (name: string) =>
    service.request('POST', '/v1/pets', { key: service.operatorKey, body: { name, categoryId: 1 } })
  const feed = (after: number) =>
    service.request('GET', `/v1/events?after=${after}`, { key: service.operatorKey })
  await add('before')
  const file = `${folderFor(t)}/copy.db`
  const cli = cliOn(service.databaseEnv)
  await cli.ok(['backup', file])
  await add('lost')
  const position = Number((await feed(0)).headers['last-event-id'])
  await cli.ok(['restore', file, '--replace'])
  const behind = await feed(position)
  assert.deepEqual([behind.status, behind.json.code], [410, 'events_expired'])
  assert.doesNotMatch(behind.json.message, /oldest event/, 'there is none')
  const { headers } = await service.request('GET', '/v1/events', { key: service.operatorKey })
  await add('after')
  const [event] = (await feed(Number(headers['last-event-id']))).json
  assert.deepEqual([event.data.name, event.id > position], ['after', true])
})
