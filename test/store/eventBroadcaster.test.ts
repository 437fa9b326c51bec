import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { StreamChunk, StreamEvents } from '../../src/api/streamBody.ts'
import { EventBroadcaster } from '../../src/events/broadcaster.ts'
import { eventIdMax, lastEventId, recordEvents } from '../../src/events/queries.ts'
import { defaultStreamBounds, type StreamBounds } from '../../src/events/stream.ts'
import type { StreamAccess } from '../../src/events/streamAccess.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { withQueryListener } from '../support/statements.ts'

/** Longer than the time in which events are coalesced. */
const quietMs = 300

const access: StreamAccess = {
  keyId: 1,
  scopes: new Set(['events:read']),
  endsAt: Number.POSITIVE_INFINITY,
  streamsMax: 1_000,
}
const manager: StreamAccess = { ...access, scopes: new Set(['events:read', 'keys:manage']) }

/** A stream whose reader accepts everything, or nothing while it is blocked. */
type Reader = {
  readonly chunks: StreamChunk[]
  readonly events: StreamEvents
  isBlocked: boolean
  isEnded: boolean
  ids(): number[]
  text(): string
}

async function broadcasterFor(t: TestContext, bounds: Partial<StreamBounds> = {}) {
  const { database } = await openDatabaseFor(t)
  let queries = 0
  const fault: { current: Error | undefined } = { current: undefined }
  const clockFault: { current: Error | undefined } = { current: undefined }
  const read = withQueryListener(database.read, () => {
    queries++
    if (fault.current) throw fault.current
  })
  const newestId = async () => {
    await database.readableThrough()
    return lastEventId(database.read, eventIdMax)
  }
  const found = new Map<string, StreamAccess | undefined>()
  let looks = 0
  const faults: unknown[] = []
  const broadcaster = new EventBroadcaster({
    database: { ...database, read },
    clock() {
      if (clockFault.current) throw clockFault.current
      return 0
    },
    bounds: { ...defaultStreamBounds, ...bounds },
    async findAccess(token) {
      looks++
      return found.has(token) ? found.get(token) : access
    },
    onFault: (error) => void faults.push(error),
  })
  t.after(() => broadcaster.close())
  const record = (count: number, type: 'pet.updated' | 'key.updated' = 'pet.updated', id = 1) =>
    database.write((trx) => recordEvents(trx, 0, Array(count).fill({ type, data: { id } })))
  async function follow({ token = 'token', after }: { token?: string; after?: number } = {}) {
    const newest = await newestId()
    const body = await broadcaster.open(token, { after: after ?? newest, newest })
    const chunks: StreamChunk[] = []
    const reader = { chunks, isBlocked: false, isEnded: false } as Reader
    const events = body.start({
      write(chunk) {
        chunks.push(chunk)
        return !reader.isBlocked
      },
      end(chunk) {
        chunks.push(chunk)
        reader.isEnded = true
      },
    })
    const text = () => chunks.map(({ bytes }) => Buffer.from(bytes).toString()).join('')
    return Object.assign(reader, {
      events,
      text,
      ids: () => [...text().matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)),
    })
  }
  return {
    broadcaster,
    follow,
    record,
    found,
    fault,
    clockFault,
    faults,
    newest: newestId,
    counts: () => ({ queries, looks }),
  }
}

describe('new events', () => {
  test('are read once for all streams, and every stream gets the same bytes', async (t) => {
    const { broadcaster, follow, record, counts } = await broadcasterFor(t)
    const readers = await Promise.all(Array.from({ length: 50 }, () => follow()))
    await record(1)
    broadcaster.wake()
    await eventually('the first event', () => readers.every((reader) => reader.ids().length === 1))
    // Waits for the read that opening a stream starts.
    const before = counts()
    await record(20)
    broadcaster.wake()
    await eventually('the others', () => readers.every((reader) => reader.ids().length === 21))
    const { queries, looks } = counts()
    assert.ok(queries - before.queries <= 2, `${queries - before.queries} queries for 50 streams`)
    assert.equal(looks, before.looks)
    assert.equal(new Set(readers.map(({ chunks }) => chunks.at(-1)?.bytes)).size, 1)
    assert.equal(new Set(readers.map(({ chunks }) => chunks.at(-1)?.framed)).size, 1)
  })

  test('are not read if there are no streams', async (t) => {
    const { broadcaster, follow, record, counts } = await broadcasterFor(t)
    const reader = await follow()
    await record(1)
    broadcaster.wake()
    await eventually('the first event', () => reader.ids().length === 1)
    reader.events.onClose()
    const { queries } = counts()
    await record(1)
    broadcaster.wake()
    assert.equal(counts().queries, queries)
    await record(1)
    const next = await follow()
    await record(1)
    broadcaster.wake()
    await eventually('the event since then', () => next.ids().length === 1)
    assert.deepEqual([reader.ids(), next.ids()], [[1], [4]])
  })

  test('within 100 ms of each other are sent together', async (t) => {
    const { broadcaster, follow, record } = await broadcasterFor(t)
    const reader = await follow()
    const startedAt = performance.now()
    for (let n = 0; n < 60; n++) {
      await record(1)
      broadcaster.wake()
    }
    await eventually('all of them', () => reader.ids().length === 60)
    const windows = Math.ceil((performance.now() - startedAt) / 100)
    // The opening comment, the events found on opening, and one chunk for each window.
    assert.ok(reader.chunks.length <= windows + 3, `${reader.chunks.length} chunks in ${windows} windows`)
  })

  test('are read immediately after a pause', async (t) => {
    const { broadcaster, follow, record, counts } = await broadcasterFor(t)
    const reader = await follow()
    await record(1)
    await pause(quietMs)
    const { queries } = counts()
    broadcaster.wake()
    assert.ok(counts().queries > queries)
    await eventually('the event', () => reader.ids().length === 1)
  })

  test('reach every stream once and in order, including streams that start at an older position', async (t) => {
    const { broadcaster, follow, record, newest } = await broadcasterFor(t)
    await record(350)
    const readers = [await follow({ after: 0 }), await follow({ after: 100 }), await follow()]
    for (let n = 0; n < 30; n++) {
      await record(7)
      broadcaster.wake()
      if (n % 10 === 0) readers.push(await follow({ after: n * 7 }))
    }
    const last = await newest()
    await eventually('the last event everywhere', () =>
      readers.every((reader) => reader.ids().at(-1) === last),
    )
    for (const reader of readers) {
      const ids = reader.ids()
      const first = ids[0] as number
      assert.deepEqual(
        ids,
        Array.from({ length: last - first + 1 }, (_, n) => first + n),
      )
    }
    assert.deepEqual(
      readers.map((reader) => reader.ids()[0]),
      [1, 101, 351, 1, 71, 141],
    )
  })
})

describe('a reader that is behind', () => {
  test('gets nothing while it is blocked, and then everything that it missed exactly once', async (t) => {
    const { broadcaster, follow, record, newest } = await broadcasterFor(t)
    const [slow, quick] = [await follow(), await follow()]
    slow.isBlocked = true
    for (let n = 1; n <= 5; n++) {
      await record(150)
      broadcaster.wake()
      await eventually('the other one', () => quick.ids().length === n * 150)
    }
    const blockedAt = slow.chunks.length
    assert.ok(slow.ids().length <= 100, 'one page was sent before it was known to be behind')
    slow.isBlocked = false
    slow.events.onDrain()
    const last = await newest()
    await eventually('what it missed', () => slow.ids().at(-1) === last)
    assert.deepEqual(slow.ids(), quick.ids())
    assert.ok(slow.chunks.length > blockedAt)
    await record(1)
    broadcaster.wake()
    await eventually('it is live again', () => slow.ids().at(-1) === last + 1)
    assert.equal(slow.chunks.at(-1), quick.chunks.at(-1))
  })
})

describe('the access of a key', () => {
  test('is read again when an event reports a change of the key, before the event is sent', async (t) => {
    const { broadcaster, follow, record, found, counts } = await broadcasterFor(t)
    found.set('manager', manager)
    found.set('plain', { ...access, keyId: 2 })
    found.set('other', { ...access, keyId: 3 })
    const [first, second] = [await follow({ token: 'manager' }), await follow({ token: 'plain' })]
    const others = await Promise.all(Array.from({ length: 20 }, () => follow({ token: 'other' })))
    const { looks } = counts()
    await record(1, 'key.updated', 9)
    broadcaster.wake()
    await eventually('an event of a key', () => first.ids().length === 1)
    assert.equal(counts().looks, looks)
    found.set('manager', access)
    found.set('plain', undefined)
    await record(1, 'key.updated', 1)
    await record(1, 'key.updated', 2)
    await record(1)
    broadcaster.wake()
    await eventually('the last event', () => first.ids().length === 2 && second.isEnded)
    assert.deepEqual(first.ids(), [1, 4])
    assert.deepEqual(second.ids(), [])
    await eventually('the others too', () => others.every((reader) => reader.ids().length === 1))
    assert.equal(counts().looks, looks + 2)
  })
})

test('a stream is counted until it ends, and released once', async (t) => {
  const { follow, found } = await broadcasterFor(t)
  found.set('token', { ...access, streamsMax: 2 })
  const [first] = [await follow(), await follow()]
  await assert.rejects(follow(), { code: 'too_many_streams' })
  first.events.onClose()
  first.events.onClose()
  await follow()
  await assert.rejects(follow(), { code: 'too_many_streams' })
})

describe('a database error', () => {
  test('ends every stream without details, and new streams work', async (t) => {
    const { broadcaster, follow, record, fault, faults } = await broadcasterFor(t)
    await record(1)
    const readers = [await follow(), await follow(), await follow({ after: 0 })]
    await eventually('it has caught up', () => readers[2]?.ids().length === 1)
    fault.current = new Error('the secret of the house')
    await record(1)
    broadcaster.wake()
    await eventually('the end of all', () => readers.every(({ isEnded }) => isEnded))
    for (const reader of readers) {
      assert.match(reader.text(), /: internal error, reconnect\n\n$/)
      assert.ok(!reader.text().includes('secret'))
      reader.events.onClose()
    }
    assert.deepEqual(faults, [fault.current])
    fault.current = undefined
    const next = await follow({ after: 1 })
    await eventually('the event that was missed', () => next.ids().length === 1)
  })

  test('ends a stream that is behind', async (t) => {
    const { follow, record, fault, faults } = await broadcasterFor(t)
    await record(1)
    fault.current = new Error('the secret of the house')
    const reader = await follow({ after: 0 })
    await eventually('its end', () => reader.isEnded)
    assert.match(reader.text(), /: internal error, reconnect\n\n$/)
    assert.ok(faults.length > 0)
  })
})

test('a check of the streams that fails is reported, and the next one sends the heartbeats', async (t) => {
  const { follow, clockFault, faults } = await broadcasterFor(t, { heartbeatMs: 20 })
  const rejections: unknown[] = []
  const onRejection = (error: unknown) => void rejections.push(error)
  process.on('unhandledRejection', onRejection)
  t.after(() => process.off('unhandledRejection', onRejection))
  const reader = await follow()
  clockFault.current = new Error('no time')
  await eventually(
    'the failure is reported',
    () => faults.includes(clockFault.current) || rejections.length > 0,
  )
  const beats = () => reader.text().split(': heartbeat').length
  const before = beats()
  clockFault.current = undefined
  await eventually('a heartbeat is sent', () => beats() > before)
  assert.deepEqual(rejections, [])
})
