import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { ensureCategory } from '../../src/categories/queries.ts'
import { createPets } from '../../src/pets/queries.ts'
import { browserTest } from '../support/browser.ts'
import { desktop } from '../support/console.ts'
import { repetitions } from '../support/repetitions.ts'
import { useConsole } from '../support/useConsole.ts'

/** 100,000 in a thorough run. */
const count = repetitions(100) * 1_000
const rowsPerWrite = 1_000
const rowsMax = 60
const heapBytesMax = 60 * 1024 * 1024
/** The list is shown again after each page, so few rows save time. */
const smallWindow = { viewport: { width: 390, height: 480 } }

const { visit } = useConsole({}, async ({ service }) => {
  const database = await service.openDatabase()
  await database.write((trx) => ensureCategory(trx, 1n, service.now()))
  for (let done = 0; done < count; done += rowsPerWrite) {
    const pets = Array.from({ length: rowsPerWrite }, (_, index) => ({
      name: `Animal number ${done + index}`,
      categoryId: 1n,
      status: 'available' as const,
    }))
    await database.write((trx) => createPets(trx, database.dialect, pets, service.now()))
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
        const rowsAtEnd = await page.locator('tbody tr').count()
        assert.ok(rowsAtEnd <= rowsMax, `${rowsAtEnd} rows`)
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
