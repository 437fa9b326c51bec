import assert from 'node:assert/strict'
import { createDecipheriv, hkdfSync } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { ApiError, apiErrors } from '../../src/api/errors.ts'
import {
  eraseFromIdempotencyRecords,
  IdempotencyRecords,
  parseIdempotencyKey,
  pruneIdempotencyRecords,
  type RecordedWrite,
} from '../../src/api/idempotency.ts'
import { type OperationResult, respond } from '../../src/api/operation.ts'
import { type Database, LockTimeoutError } from '../../src/database/database.ts'
import type { Trx } from '../../src/database/db.ts'
import { openDatabaseFor } from '../support/engine.ts'

const now = Date.UTC(2030, 0, 1)
const dayMs = 24 * 60 * 60 * 1000
type Attempt = Parameters<IdempotencyRecords['once']>[0]
const principalOf = (keyId: number, token: string) => ({
  keyId,
  token,
  scopes: new Set<string>(),
  origins: [],
})
const attempt: Attempt = {
  ...{ key: 'retry', principal: principalOf(1, 'token'), method: 'POST', path: '/v1/pets' },
  ...{ bytes: Buffer.from('{}'), isSecret: false, now },
}

/** Counts how often a write runs. Each run has another response. */
function counted(
  respondTo: (run: number) => OperationResult = (run) => respond(201, { run }, { ETag: '"a"' }),
) {
  const calls = { count: 0 }
  const run = async () => respondTo(++calls.count)
  return { calls, write: { run } satisfies RecordedWrite }
}

async function openRecords(t: TestContext) {
  const { database } = await openDatabaseFor(t)
  const stored = () =>
    database.read.selectFrom('idempotency_records').selectAll().orderBy('idempotency_key').execute()
  return { database, stored, records: new IdempotencyRecords(database) }
}

const replayOf = ({ status, json, headers }: OperationResult) => ({
  ...{ status, headers: { ...headers, 'Idempotent-Replayed': 'true' } },
  ...(json !== undefined && { json }),
})
const hasCode = (code: string) => (error: unknown) => error instanceof ApiError && error.code === code
const isReused = hasCode('idempotency_key_reused')

test('a key is 1 to 255 visible characters, bare or in quotes', () => {
  assert.equal(parseIdempotencyKey(undefined), undefined)
  for (const [header, key] of [
    ['a', 'a'],
    ['"a"', 'a'],
    ['!~', '!~'],
    ['x"a"', 'x"a"'],
    ['"a"x', '"a"x'],
    ['"', '"'],
  ] as const)
    assert.equal(parseIdempotencyKey(header), key)
  assert.equal(parseIdempotencyKey('a'.repeat(255))?.length, 255)
  for (const header of ['', '""', 'a b', ' a', 'a ', '\u007f', 'é', 'a'.repeat(256)])
    assert.throws(
      () => parseIdempotencyKey(header),
      (error) =>
        hasCode('validation_failed')(error) &&
        /^Idempotency-Key must be 1 to 255 visible/.test(
          (error as ApiError).details?.map(({ path, message }) => `${path} ${message}`).join() ?? '',
        ),
    )
})

test('a request runs once, and its response is stored and replayed', async (t) => {
  const { records, stored } = await openRecords(t)
  const { write, calls } = counted((run) => ({
    ...respond(201, { run }, { ETag: '"a"' }),
    subjectRef: 'order 7',
  }))
  const first = await records.once(attempt, write)
  assert.equal(first.json, '{"run":1}')
  assert.deepEqual(await records.once(attempt, write), replayOf(first))
  assert.equal(calls.count, 1)
  const [row] = await stored()
  assert.deepEqual(
    [row?.key_id, row?.idempotency_key, row?.status, row?.body, row?.created_at, row?.subject_ref],
    [1, 'retry', 201, '{"run":1}', now, 'order 7'],
  )
})

test('a response without a body and headers is replayed without a body', async (t) => {
  const { records, stored } = await openRecords(t)
  const { write } = counted(() => ({ status: 204 }))
  await records.once(attempt, write)
  assert.deepEqual(await records.once(attempt, write), replayOf({ status: 204 }))
  assert.equal((await stored())[0]?.subject_ref, null)
})

test('another method, path or body is another request; another key or caller has a separate record', async (t) => {
  const { records } = await openRecords(t)
  const { write, calls } = counted()
  await records.once(attempt, write)
  for (const other of [{ method: 'PUT' }, { path: '/v1/keys' }, { bytes: Buffer.from('{} ') }])
    await assert.rejects(records.once({ ...attempt, ...other }, write), isReused)
  assert.equal(calls.count, 1)
  const otherToken = { ...attempt, principal: principalOf(1, 'rotated') }
  assert.equal((await records.once(otherToken, write)).headers?.['Idempotent-Replayed'], 'true')
  await records.once({ ...attempt, key: 'other' }, write)
  await records.once({ ...attempt, principal: principalOf(2, 'token') }, write)
  assert.equal(calls.count, 3)
})

test('a record is found until the end of its retention, and then replaced', async (t) => {
  const { records, stored } = await openRecords(t)
  const { write, calls } = counted()
  await records.once(attempt, write)
  await records.once({ ...attempt, now: now + dayMs - 1 }, write)
  assert.equal(calls.count, 1)
  const next = await records.once({ ...attempt, now: now + dayMs }, write)
  assert.equal(next.json, '{"run":2}')
  assert.deepEqual(
    (await stored()).map(({ body, created_at }) => [body, created_at]),
    [['{"run":2}', now + dayMs]],
  )
})

test('while a request runs, the same one is in progress and another one is rejected', async (t) => {
  const { records } = await openRecords(t)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { write } = counted()
  const first = records.once(attempt, { ...write, runBatched: () => released.then(() => respond(202)) })
  await assert.rejects(records.once(attempt, write), hasCode('idempotency_in_progress'))
  await assert.rejects(records.once({ ...attempt, path: '/v1/keys' }, write), isReused)
  assert.equal((await records.once({ ...attempt, key: 'other' }, write)).status, 201)
  assert.equal((await records.once({ ...attempt, principal: principalOf(2, 't') }, write)).status, 201)
  release()
  assert.equal((await first).status, 202)
  assert.equal((await records.once(attempt, write)).status, 201)
})

test('a batched request runs alone only if the batch has no response', async (t) => {
  const { records } = await openRecords(t)
  const { write, calls } = counted()
  const batched: unknown[] = []
  const runBatched = (result: OperationResult | undefined): RecordedWrite => ({
    ...write,
    runBatched: async (record) => {
      batched.push(record)
      return result
    },
  })
  assert.deepEqual(await records.once(attempt, runBatched(respond(202))), respond(202))
  assert.equal(calls.count, 0)
  assert.equal((await records.once(attempt, runBatched(undefined))).json, '{"run":1}')
  const [record] = batched as { keyId: number; key: string; fingerprint: string }[]
  assert.deepEqual([record?.keyId, record?.key, record?.fingerprint.length], [1, 'retry', 43])
  assert.deepEqual(batched[1], record)
})

test('a request is prepared once, and its error is left to the transaction', async (t) => {
  const { records } = await openRecords(t)
  const { write, calls } = counted()
  let prepared = 0
  const prepare = async () => {
    prepared++
    throw new Error('The transaction rejects with this error.')
  }
  const first = await records.once(attempt, { ...write, prepare })
  assert.deepEqual([prepared, calls.count], [1, 1])
  assert.deepEqual(await records.once(attempt, { ...write, prepare }), replayOf(first))
  assert.deepEqual([prepared, calls.count], [1, 1])
})

test('an error of the caller is stored and replayed', async (t) => {
  const { records } = await openRecords(t)
  let runs = 0
  const run = async () => {
    runs++
    throw new ApiError(apiErrors.not_found, 'There is no such pet.', { headers: { 'X-Reason': 'gone' } })
  }
  const first = await records.once(attempt, { run })
  assert.equal(first.status, 404)
  assert.equal(JSON.parse(first.json ?? '').message, 'There is no such pet.')
  assert.deepEqual(first.headers, { 'X-Reason': 'gone' })
  assert.deepEqual(await records.once(attempt, { run }), replayOf(first))
  assert.equal(runs, 1)
})

test('an error of the service, and one about the key itself, is not stored', async (t) => {
  const { records, stored } = await openRecords(t)
  const { write } = counted()
  const { internal_error, idempotency_key_reused, idempotency_in_progress } = apiErrors
  const errors = [new Error('A fault.'), ...[internal_error, idempotency_key_reused, idempotency_in_progress].map((definition) => new ApiError(definition))] // biome-ignore format: short
  for (const error of errors) {
    const run = () => Promise.reject(error)
    await assert.rejects(records.once(attempt, { run }), (thrown) => thrown === error)
    assert.deepEqual(await stored(), [])
  }
  assert.equal((await records.once(attempt, write)).json, '{"run":1}')
})

/** The database, with another function that locks a name. */
const withLock = (database: Database, lockName: (name: string) => Promise<void>): Database =>
  new Proxy(database, {
    get: (target, name) => {
      if (name !== 'write') return target[name as keyof Database]
      const write: Database['write'] = (work, options) =>
        target.write((trx) => {
          const get = (each: Trx, part: keyof Trx) =>
            part === 'lockName' ? lockName : Reflect.get(each, part, each)
          return work(new Proxy(trx, { get: (each, part) => get(each, part as keyof Trx) }))
        }, options)
      return write
    },
  })

test('a request that another instance runs is in progress; other faults of the lock are not hidden', async (t) => {
  const { database } = await openRecords(t)
  const { write, calls } = counted()
  const names: string[] = []
  const lockedBy = (error: Error) =>
    new IdempotencyRecords(
      withLock(database, (name) => {
        names.push(name)
        return Promise.reject(error)
      }),
    )
  const timeout = lockedBy(new LockTimeoutError()).once(attempt, write)
  await assert.rejects(timeout, hasCode('idempotency_in_progress'))
  const fault = new Error('A fault.')
  await assert.rejects(lockedBy(fault).once(attempt, write), (thrown) => thrown === fault)
  assert.deepEqual(names, ['idempotency 1 retry', 'idempotency 1 retry'])
  assert.equal(calls.count, 0)
})

/** As every version does it: records of one are read by the next. */
function decryptBody(body: Buffer, token: string, key: string): string {
  const cipherKey = Buffer.from(hkdfSync('sha256', token, key, 'petstore idempotency record', 32))
  const decryption = createDecipheriv('aes-256-gcm', cipherKey, body.subarray(0, 12))
  decryption.setAuthTag(body.subarray(12, 28))
  return decryption.update(body.subarray(28), undefined, 'utf8') + decryption.final('utf8')
}

test('a response with a secret is stored encrypted for the token that requested it', async (t) => {
  const { records, database, stored } = await openRecords(t)
  const secret: Attempt = { ...attempt, isSecret: true }
  const { write } = counted(() => respond(201, { key: 'ps_live_é' }))
  const first = await records.once(secret, write)
  assert.deepEqual(await records.once(secret, write), replayOf(first))
  await records.once({ ...secret, key: 'other' }, write)
  const bodies = (await stored()).map(({ body }) => Buffer.from(body, 'base64'))
  for (const body of bodies) {
    assert.equal(body.length, 12 + 16 + Buffer.byteLength(first.json ?? ''))
    assert.ok(!body.includes('ps_live'))
  }
  assert.notDeepEqual(bodies[0]?.subarray(0, 12), bodies[1]?.subarray(0, 12))
  await assert.rejects(records.once({ ...secret, principal: principalOf(1, 'rotated') }, write), isReused)
  await assert.rejects(records.once({ ...secret, isSecret: false }, write), isReused)
  const change = (body: string) =>
    database.write((trx) =>
      trx.updateTable('idempotency_records').set({ body }).where('idempotency_key', '=', 'retry').execute(),
    )
  const [other, own] = bodies
  assert.ok(other && own)
  assert.equal(decryptBody(own, 'token', 'retry'), first.json)
  await change(other.toString('base64'))
  await assert.rejects(records.once(secret, write), 'a response of another Idempotency-Key')
  own[own.length - 1] = Number(own.at(-1)) ^ 1
  await change(own.toString('base64'))
  await assert.rejects(records.once(secret, write), 'one bit was changed')
})

test('a prune deletes at most 1,000 records past their retention, and no others', async (t) => {
  const { database, stored } = await openRecords(t)
  const record = { fingerprint: '', status: 201, headers: '{}', body: '' }
  await database.write(async (trx) => {
    const add = (created_at: number, names: string[]) =>
      trx
        .insertInto('idempotency_records')
        .values(names.map((name) => ({ ...record, key_id: 1, idempotency_key: name, created_at })))
        .execute()
    for (const part of ['a', 'b'])
      await add(
        now - dayMs,
        Array.from({ length: 501 }, (_, n) => part + n),
      )
    await add(now - dayMs + 1, ['young'])
  })
  const prune = () => database.write((trx) => pruneIdempotencyRecords(trx, now))
  assert.deepEqual([await prune(), await prune(), await prune()], [1_000, 2, 0])
  assert.deepEqual(
    (await stored()).map(({ idempotency_key }) => idempotency_key),
    ['young'],
  )
})

test('erasing changes the stored responses of one subject, which a retry gets', async (t) => {
  const { records, database, stored } = await openRecords(t)
  const of = (subjectRef: string) => counted(() => ({ ...respond(201, { name: 'Ada' }), subjectRef })).write
  await records.once(attempt, of('order 1'))
  await records.once({ ...attempt, key: 'second' }, of('order 1'))
  await records.once({ ...attempt, key: 'other' }, of('order 2'))
  await records.once({ ...attempt, principal: principalOf(2, 't') }, of('order 2'))
  await database.write((trx) =>
    eraseFromIdempotencyRecords(trx, 'order 1', (json) => json.replace('Ada', '')),
  )
  assert.equal((await records.once(attempt, of('order 1'))).json, '{"name":""}')
  const bodies = (await stored()).map(
    ({ key_id, idempotency_key, body }) => `${key_id} ${idempotency_key} ${body}`,
  )
  assert.deepEqual(bodies.sort(), [
    '1 other {"name":"Ada"}',
    '1 retry {"name":""}',
    '1 second {"name":""}',
    '2 retry {"name":"Ada"}',
  ])
})
