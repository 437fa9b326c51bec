import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { ensureCategory } from '../../src/categories/queries.ts'
import { createPets } from '../../src/pets/storedPets.ts'
import { browserTest } from '../support/browser.ts'
import { assertFits, assertSoundInBoth, desktop, goTo, nextFrame, screenshot } from '../support/console.ts'
import { eventually, eventuallyHolds } from '../support/eventually.ts'
import { expectValue, textMatching } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

/** 100,000 in a thorough run. */
const count = 100_000
const rowsPerWrite = 1_000
const rowsMax = 60
const heapBytesMax = 60 * 1024 * 1024
/** The list is shown again after each page, so few rows save time. */
const smallWindow = { viewport: { width: 390, height: 480 } }

const { api, service, visit } = useConsole({}, async ({ service }) => {
  const database = await service.openDatabase()
  await database.write((trx) => ensureCategory(trx, 1n, service.now()))
  for (let done = 0; done < count; done += rowsPerWrite) {
    const pets = Array.from({ length: rowsPerWrite }, (_, index) => ({
      name: `Animal number ${done + index}`,
      categoryId: 1n,
      status: 'available' as const,
    }))
    await database.write((trx) => createPets(trx, pets, service.now()))
  }
})

async function heapBytes(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  await devtools.detach()
  return usedSize
}

/** Scrolls to the end as often as a new page makes the list longer. Returns the largest number of rows on the way. */
const scrollThroughAll = (page: Page) =>
  page.evaluate<number>(`(async () => {
    const region = document.querySelector('.table-scroll')
    const table = region.querySelector('table')
    let rows = 0
    let length
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve))
      if (table.ariaRowCount === length) continue
      length = table.ariaRowCount
      region.scrollTop = region.scrollHeight
      rows = Math.max(rows, region.querySelectorAll('tbody tr').length)
      if (length === '${count + 1}') return rows
    }
  })()`)

/** `share` is 0 for the beginning and 1 for the end. */
const scrollTo = (page: Page, share: number) =>
  page.locator('.table-scroll').evaluate((element, share) => {
    const region = element as unknown as { scrollTop: number; scrollHeight: number }
    region.scrollTop = region.scrollHeight * share
  }, share)

browserTest(
  `the table of ${count.toLocaleString('en')} animals has a bounded number of rows and a bounded heap`,
  () =>
    visit(
      'animals',
      async ({ page }) => {
        await page.getByText(`Animal number ${count - 1}`).waitFor()
        await page.getByText('100 loaded, more as you scroll').waitFor()
        const rows = await scrollThroughAll(page)
        assert.ok(rows <= rowsMax, `${rows} rows`)
        await page.setViewportSize(desktop.viewport)
        await scrollTo(page, 1)
        await page.getByText('Animal number 0', { exact: true }).waitFor()
        await page.getByText(`${count.toLocaleString('en')} animals`).waitFor()
        await eventuallyHolds(async () => {
          const rowsAtEnd = await page.locator('tbody tr').count()
          assert.ok(rowsAtEnd <= rowsMax, `${rowsAtEnd} rows`)
        })
        const heap = await heapBytes(page)
        assert.ok(heap < heapBytesMax, `${heap} bytes`)
        // The first page is no longer in memory: it is loaded again.
        await scrollTo(page, 0)
        await page.getByText(`Animal number ${count - 1}`).waitFor()
        // Half-way, as well.
        await scrollTo(page, 0.5)
        const middle = new RegExp(`^Animal number (${count / 2_000 - 1}|${count / 2_000})\\d{3}$`)
        await page.getByText(middle).first().waitFor()
      },
      smallWindow,
    ),
)

browserTest(`a search finds one of ${count.toLocaleString('en')} animals, and stays in the URL`, () =>
  visit('animals', async (opened) => {
    const { page } = opened
    const field = page.getByLabel('Search animals')
    const oldest = page.getByText('Animal number 12', { exact: true })
    await page.getByText(`Animal number ${count - 1}`).waitFor()
    await eventually('the index is complete', async () => {
      const { status } = await service.request('GET', '/v1/listings?q=animal', { key: service.operatorKey })
      return status === 200
    })
    await field.fill('ÁNIMAL NÜMBER 12')
    await oldest.waitFor()
    await assertSoundInBoth(opened, 'animals-search')
    await page.setViewportSize({ width: 320, height: 640 })
    await assertSoundInBoth(opened, 'animals-search-narrow')
    await page.setViewportSize(desktop.viewport)
    // The search outlives a reload and the way back from another screen, and can be shared.
    await page.reload()
    await oldest.waitFor()
    await page.getByRole('link', { name: 'Orders' }).click()
    await page.getByText('No orders yet').waitFor()
    await page.goBack()
    await oldest.waitFor()
    await expectValue(field, 'ÁNIMAL NÜMBER 12')
    // A filter that is chosen while the text is still typed does not lose it, nor the other way round.
    await field.fill(`number ${count - 1}`)
    await page.getByLabel('Status', { exact: true }).selectOption('available')
    await page.getByText('1 animal', { exact: true }).waitFor()
    await field.fill(`Number ${count - 1}`)
    await page.waitForURL(/\?status=available&q=Number\+\d+$/)
  }),
)

browserTest(`the gallery of ${count.toLocaleString('en')} animals has a bounded number of cards`, () =>
  visit('animals?view=gallery', async ({ page }) => {
    await page.getByText(`Animal number ${count - 1}`).waitFor()
    for (const loaded of ['200', '300', '400']) {
      await scrollTo(page, 1)
      await page.getByText(new RegExp(`^${loaded} loaded`)).waitFor()
    }
    await eventuallyHolds(async () => {
      const cards = await page.getByRole('article').count()
      assert.ok(cards <= rowsMax, `${cards} cards`)
    })
    await scrollTo(page, 0)
    await page.getByText(`Animal number ${count - 1}`).waitFor()
  }),
)

/** 20 characters, wider than most names of this length. */
const longName = 'Wilhelmina Woofworth'
/** Categories are listed by name. */
const longKind = 'Aardvarks and others'
const longAddress = 'https://woofworth.eu/'
const widths = [320, 360, 390, 430, 600, 768, 1_024]

/** Lists that are longer than the screen. */
async function addLongLists(): Promise<void> {
  for (let number = 0; number < 40; number++) {
    await service.makeKey({ name: `Key number ${number}` })
    await api('POST', '/categories', { name: `Category number ${number}` })
    await api('POST', '/webhooks', { url: `https://partner.example/${number}`, events: ['pet.created'] })
  }
  for (const name of ['W'.repeat(100), longName]) {
    await api('POST', '/pets', { name, categoryId: 1 })
    await service.makeKey({ name })
  }
  for (const name of ['A'.repeat(100), longKind]) await api('POST', '/categories', { name })
  for (const url of [`${longAddress}${'w'.repeat(255)}`, longAddress])
    await api('POST', '/webhooks', { url, events: ['pet.created'] })
}

type Box = { left: number; right: number; isCut: boolean; text: string }
type TableBoxes = {
  frame: Box
  table: Box
  headers: Box[]
  named: Box[]
  statuses: Box[]
  rowHeights: number[]
}

/** The places of the visible table, of the heads of its columns, and of what has the text `name`. */
const measureTable = (page: Page, name: string) =>
  page.evaluate<TableBoxes>(`(() => {
    const isShown = (element) => element.getClientRects().length > 0
    const table = [...document.querySelectorAll('.content table')].find(isShown)
    const box = (element) => {
      const { left, right } = element.getBoundingClientRect()
      const isCut = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight
      return { left, right, isCut, text: element.innerText }
    }
    const all = (selector) => [...table.querySelectorAll(selector)].filter(isShown)
    const leaves = all('td *, td').filter(({ children }) => children.length === 0)
    return {
      frame: box(table.parentElement),
      table: box(table),
      headers: all('th').map(box),
      named: leaves.filter(({ textContent }) => textContent === ${JSON.stringify(name)}).map(box),
      statuses: all('td:has(.chip)').map(box),
      rowHeights: all('tbody tr:not(.table-spacer)').map((row) => row.getBoundingClientRect().height),
    }
  })()`)

async function assertTableFits(page: Page, name: string, width: number): Promise<void> {
  await assertFits(page)
  const { frame, table, headers, named, statuses, rowHeights } = await measureTable(page, name)
  const starts = headers.map(({ left }) => left)
  const ends = headers.map(({ right }) => right)
  assert.deepEqual(starts, [table.left, ...ends.slice(0, -1)], 'The columns have gaps.')
  assert.ok(Math.abs(table.right - (ends.at(-1) ?? 0)) < 1, 'The columns do not fill the table.')
  assert.ok(frame.right <= width, 'The table is wider than the screen.')
  assert.equal(named.length, 1)
  const cut = [...named, ...statuses].filter(({ isCut }) => isCut)
  assert.deepEqual(cut, [], 'A name or a status is cut off.')
  const heights = new Set(rowHeights)
  assert.equal(heights.size, 1, `The rows have the heights ${[...heights]}.`)
}

browserTest(
  'the columns of every table fill it, and a name of 20 characters can be read, at every width',
  (t) =>
    visit(
      'overview',
      async ({ page }) => {
        await addLongLists()
        await page.reload()
        const firstTime = async () => {
          await page.getByText('Show as a table').click()
          return textMatching(page.locator('.content td').first(), /.+/)
        }
        const names = {
          ...{ overview: firstTime, animals: longName, categories: longKind },
          ...{ keys: longName, webhooks: longAddress },
        }
        for (const [path, found] of Object.entries(names)) {
          await goTo(page, path)
          const name = typeof found === 'string' ? found : await found()
          await page.locator('td').getByText(name, { exact: true }).waitFor()
          for (const width of widths)
            await t.test(`${path} at ${width} px`, async () => {
              await page.setViewportSize({ width, height: 700 })
              await nextFrame(page)
              await screenshot(page, `long-${path}-${width}`)
              await eventuallyHolds(() => assertTableFits(page, name, width))
            })
        }
      },
      smallWindow,
    ),
)
