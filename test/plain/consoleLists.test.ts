import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RequestError } from '../../console/src/api/errors.ts'
import { type LoadedPage, PagedList } from '../../console/src/app/pagedList.ts'

type Row = { id: number; name: string }

const pageSize = 100

/** A list over rows in memory. `hold` keeps the responses back until it is released, as they were when requested. */
function makeList(count: number, isHidden?: (id: number) => boolean) {
  const rows = new Map<number, Row>()
  for (let id = 1; id <= count; id++) rows.set(id, { id, name: `Row ${id}` })
  const server = { rows, requests: [] as (string | undefined)[], isFailing: false, held: Promise.resolve() }
  const list = new PagedList<Row>({
    async load(cursor): Promise<LoadedPage<Row>> {
      server.requests.push(cursor)
      const below = cursor === undefined ? Number.POSITIVE_INFINITY : Number(cursor)
      const found = [...rows.values()].filter(({ id }) => id < below).sort((a, b) => b.id - a.id)
      const data = found.slice(0, pageSize)
      const nextCursor = found.length > pageSize ? String(data.at(-1)?.id) : undefined
      const { isFailing } = server
      await server.held
      if (isFailing) throw new RequestError('network_error', 'The service cannot be reached.')
      return { data, nextCursor }
    },
    ...(isHidden && { isHidden }),
  })
  function hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    server.held = promise
    return () => {
      server.held = Promise.resolve()
      resolve()
    }
  }
  return { list, server, hold }
}

const shownIds = (list: PagedList<Row>) =>
  Array.from({ length: list.size.value.length }, (_, index) => list.itemAt(index)?.id)

async function loadAll(list: PagedList<Row>) {
  await list.reload()
  while (list.state.value === 'more') await list.loadMore()
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('a list of pages', () => {
  test('a retry after a failed reload does not repeat the rows', async () => {
    const { list, server } = makeList(3)
    await list.reload()
    assert.equal(list.state.value, 'end')
    server.isFailing = true
    await list.reload()
    assert.equal(list.state.value, 'error')
    server.isFailing = false
    await list.loadMore()
    assert.deepEqual(shownIds(list), [3, 2, 1])
  })

  test('a retry after a failed next page loads that page', async () => {
    const { list, server } = makeList(150)
    await list.reload()
    server.isFailing = true
    await list.loadMore()
    server.isFailing = false
    await list.loadMore()
    assert.equal(new Set(shownIds(list)).size, 150)
    assert.equal(list.size.value.length, 150)
  })

  test('changes that arrive during a load are not overwritten by its older response', async () => {
    const { list, server, hold } = makeList(3)
    const release = hold()
    const loaded = list.reload()
    list.upsert({ id: 2, name: 'Changed' })
    list.upsert({ id: 4, name: 'New' })
    list.remove(1)
    release()
    await loaded
    assert.deepEqual(shownIds(list), [4, 3, 2])
    assert.equal(list.find(2)?.name, 'Changed')
    assert.equal(server.requests.length, 1)
  })

  test('a refresh takes over the first page, and keeps the pages below', async () => {
    const { list, server } = makeList(250)
    await list.reload()
    await list.loadMore()
    server.rows.set(251, { id: 251, name: 'New' })
    server.rows.set(250, { id: 250, name: 'Changed' })
    await list.refresh()
    assert.equal(list.size.value.length, 201)
    assert.deepEqual([list.itemAt(0)?.name, list.itemAt(1)?.name], ['New', 'Changed'])
    assert.equal(list.state.value, 'more')
    // More rows than one page has are new, so the list starts again.
    for (let id = 252; id <= 400; id++) server.rows.set(id, { id, name: `Row ${id}` })
    await list.refresh()
    assert.equal(list.size.value.length, pageSize)
    assert.equal(list.itemAt(0)?.id, 400)
  })

  test('a hidden row is hidden on every page, and shown again', async () => {
    const hidden = new Set([2])
    const { list } = makeList(3, (id) => hidden.has(id))
    await list.reload()
    assert.deepEqual(shownIds(list), [3, 1])
    hidden.clear()
    list.updateHidden()
    assert.deepEqual(shownIds(list), [3, 2, 1])
  })
})

describe('dropped pages', () => {
  const count = 20_500

  test('are not requested again and again when they fail, and a retry loads them', async () => {
    const { list, server } = makeList(count)
    await loadAll(list)
    assert.ok(list.size.value.loadedCount < count)
    server.isFailing = true
    server.requests = []
    const dropped = Array.from({ length: count }, (_, index) => index).filter(
      (index) => index % pageSize === 0 && list.itemAt(index) === undefined,
    )
    await settled()
    assert.ok(dropped.length > 0)
    const failed = server.requests.length
    for (const index of dropped) assert.equal(list.itemAt(index), undefined)
    await settled()
    assert.equal(server.requests.length, failed)
    assert.equal(list.pageError.value?.code, 'network_error')
    server.isFailing = false
    list.retryPages()
    const [first = 0] = dropped
    list.itemAt(first)
    await settled()
    assert.equal(list.itemAt(first)?.id, count - first)
    assert.equal(list.pageError.value, undefined)
  })

  test('do not count while a name is searched for, and count again after that', async () => {
    const { list } = makeList(count)
    await loadAll(list)
    list.filter(({ id }) => id % 1_000 === 0)
    const found = shownIds(list)
    assert.ok(found.length > 0 && found.length <= 20)
    assert.ok(found.every((id) => id !== undefined && id % 1_000 === 0))
    list.filter(undefined)
    assert.equal(list.size.value.length, count)
  })
})
