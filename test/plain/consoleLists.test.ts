import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConnectionError } from '../../client/src/index.ts'
import type { ListOptions, LoadedPage } from '../../console/src/app/listTypes.ts'
import { PagedList } from '../../console/src/app/pagedList.ts'

type Row = { id: number; name: string }

const pageSize = 100

/** A list over rows in memory. `hold` keeps the responses back until it is released, as they were when requested. */
function makeList(count: number, options: Partial<ListOptions<Row>> = {}) {
  const rows = new Map<number, Row>()
  for (let id = 1; id <= count; id++) rows.set(id, { id, name: `Row ${id}` })
  const server = { rows, requests: [] as (string | undefined)[], isFailing: false, held: Promise.resolve() }
  const list = new PagedList<Row>({
    pageSize,
    list: ({ limit, cursor }) => ({
      async page(): Promise<LoadedPage<Row>> {
        server.requests.push(cursor)
        const below = cursor === undefined ? Number.POSITIVE_INFINITY : Number(cursor)
        const found = [...rows.values()].filter(({ id }) => id < below).sort((a, b) => b.id - a.id)
        const items = found.slice(0, limit)
        const nextCursor = found.length > limit ? String(items.at(-1)?.id) : undefined
        const { isFailing } = server
        await server.held
        if (isFailing) throw new ConnectionError('connection_failed', 'The service cannot be reached.')
        return { items, nextCursor }
      },
    }),
    ...options,
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
  test('a dropped page that arrives after a reload is ignored', async () => {
    const { list, server, hold } = makeList(500, { windowMax: 200 })
    await list.reload()
    for (let page = 0; page < 2; page++) await list.loadOlder()
    assert.ok(list.window().hasNewer)
    // The range of the dropped page gets more rows than one page has.
    for (let id = 501; id <= 650; id++) server.rows.set(id, { id, name: `Row ${id}` })
    const release = hold()
    const loads = [list.reload(), list.loadNewer()]
    release()
    await Promise.all(loads)
    const { items, hasNewer, hasOlder } = list.window()
    assert.deepEqual([items[0]?.id, items.length, hasNewer, hasOlder], [650, pageSize, false, true])
  })

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
    const { list } = makeList(3, { isHidden: (id) => hidden.has(Number(id)) })
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
    assert.equal(list.pageError.value?.code, 'connection_failed')
    server.isFailing = false
    list.retryPages()
    const [first = 0] = dropped
    list.itemAt(first)
    await settled()
    assert.equal(list.itemAt(first)?.id, count - first)
    assert.equal(list.pageError.value, undefined)
  })
})

describe('a list that shows all that is in memory', () => {
  const count = 1_050
  const windowMax = 400
  const makeWindow = () => makeList(count, { windowMax })

  /** What is shown are all rows between the first and the last that are shown, newest first. Returns their ids. */
  function windowIds({ list, server }: ReturnType<typeof makeWindow>): number[] {
    const { items } = list.window()
    const ids = items.map(({ id }) => id)
    const [first = 0] = ids
    const last = ids.at(-1) ?? 0
    const expected = [...server.rows.keys()].filter((id) => id <= first && id >= last).sort((a, b) => b - a)
    assert.deepEqual(ids, expected)
    return ids
  }

  /** Loads pages until there are no more. Returns all ids that were shown. */
  async function walk(test: ReturnType<typeof makeWindow>, direction: 'newer' | 'older') {
    const seen = new Set(windowIds(test))
    const { list } = test
    while (direction === 'newer' ? list.window().hasNewer : list.window().hasOlder) {
      await (direction === 'newer' ? list.loadNewer() : list.loadOlder())
      const { loadedCount } = list.size.value
      assert.ok(loadedCount <= windowMax, `${loadedCount} rows`)
      for (const id of windowIds(test)) seen.add(id)
    }
    return seen
  }

  test('reaches every row, downwards and back, with a bounded number in memory', async () => {
    const test = makeWindow()
    await test.list.reload()
    assert.equal(test.list.window().hasNewer, false)
    assert.equal((await walk(test, 'older')).size, count)
    assert.equal(test.list.window().hasNewer, true)
    assert.equal(test.list.window().items.at(-1)?.id, 1)
    assert.equal((await walk(test, 'newer')).size, count)
    assert.equal(test.list.window().items[0]?.id, count)
    await walk(test, 'older')
    await test.list.reload()
    assert.equal(windowIds(test)[0], count)
  })

  test('shows changes within it, and those outside of it when they are loaded', async () => {
    const test = makeWindow()
    const { list, server } = test
    const change = (id: number, isRemoved = false) => {
      const row = { id, name: 'Changed' }
      if (isRemoved) server.rows.delete(id)
      else server.rows.set(id, row)
      if (isRemoved) list.remove(id)
      else list.upsert(row)
    }
    await list.reload()
    await walk(test, 'older')
    const shown = windowIds(test)
    assert.equal(list.covers(count + 1), false)
    assert.equal(list.covers(shown[5] as number), true)
    // Above the window, and within it: between two rows, and at their place.
    change(count + 1)
    for (let id = 900; id < 901; id += 1 / 256) change(id)
    change((shown[10] as number) + 0.5)
    change(shown[20] as number, true)
    assert.equal(windowIds(test).length, shown.length)
    const seen = await walk(test, 'newer')
    assert.ok(seen.has(count + 1))
    assert.ok([...server.rows.keys()].filter((id) => id > (shown[0] as number)).every((id) => seen.has(id)))
    await walk(test, 'older')
  })

  test('keeps what it shows if a page cannot be loaded, and loads it when asked again', async () => {
    const test = makeWindow()
    const { list, server } = test
    await list.reload()
    await walk(test, 'older')
    const shown = windowIds(test)
    server.isFailing = true
    await list.loadNewer()
    assert.equal(list.pageError.value?.code, 'connection_failed')
    assert.deepEqual(windowIds(test), shown)
    server.isFailing = false
    await list.loadNewer()
    assert.equal(list.pageError.value, undefined)
    assert.equal(windowIds(test)[0], (shown[0] as number) + pageSize)
  })

  test('starts again when new rows have made a page as long as it may be', async () => {
    const { list, server } = makeWindow()
    await list.reload()
    for (let id = count + 1; list.size.value.length <= windowMax; id++) {
      server.rows.set(id, { id, name: 'New' })
      list.upsert({ id, name: 'New' })
    }
    await settled()
    assert.equal(list.window().items.length, pageSize)
    assert.equal(list.window().items[0]?.name, 'New')
  })
})
