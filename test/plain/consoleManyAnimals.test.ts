import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type { Page } from 'playwright-core'
import { ensureCategory } from '../../src/categories/queries.ts'
import { createPets } from '../../src/pets/queries.ts'
import { browserTest, hasBrowser, launchBrowser, type TestBrowser } from '../support/browser.ts'
import { openConsole } from '../support/console.ts'
import { ensureConsoleBuilt } from '../support/consoleBuild.ts'
import { startTestService, type TestService } from '../support/service.ts'

const count = 100_000
const rowsPerWrite = 5_000
const rowsMax = 60
const heapBytesMax = 60 * 1024 * 1024

let service: TestService
let chromium: TestBrowser
before(async () => {
  if (!hasBrowser) return
  ensureConsoleBuilt()
  service = await startTestService({}, { startAt: 'now' })
  chromium = await launchBrowser()
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
after(async () => {
  await chromium?.close()
  await service?.stop()
})

async function heapBytes(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  await devtools.detach()
  return usedSize
}

browserTest('the table of 100,000 animals has a bounded number of rows and a bounded heap', async () => {
  const { page, close } = await openConsole(chromium.browser, service.base, {
    key: service.operatorKey,
    path: '/console/animals',
  })
  try {
    await page.getByText(`Animal number ${count - 1}`).waitFor()
    // Scrolls to the end as often as a new page makes the list longer, and counts the rows each time.
    const { rows, animals } = await page.evaluate<{ rows: number; animals: number }>(`(async () => {
      const region = document.querySelector('.table-scroll')
      let rows = 0
      for (;;) {
        region.scrollTop = region.scrollHeight
        await new Promise((resolve) => setTimeout(resolve))
        rows = Math.max(rows, document.querySelectorAll('tbody tr').length)
        const animals = Number(document.querySelector('table').getAttribute('aria-rowcount')) - 1
        if (/^[\\d,]+ animals$/.test(document.querySelector('.table-footer')?.textContent ?? '')) return { rows, animals }
      }
    })()`)
    assert.equal(animals, count)
    assert.ok(rows <= rowsMax, `${rows} rows`)
    await page.locator('.table-scroll').evaluate((region) => {
      const { scrollHeight } = region as unknown as { scrollHeight: number }
      ;(region as unknown as { scrollTop: number }).scrollTop = scrollHeight
    })
    await page.getByText('Animal number 0', { exact: true }).waitFor()
    const heap = await heapBytes(page)
    assert.ok(heap < heapBytesMax, `${heap} bytes`)
    // The first page is no longer in memory: it is loaded again.
    await page.locator('.table-scroll').evaluate((region) => {
      ;(region as unknown as { scrollTop: number }).scrollTop = 0
    })
    await page.getByText(`Animal number ${count - 1}`).waitFor()
    // Half-way, as well.
    await page.locator('.table-scroll').evaluate((region) => {
      const { scrollHeight } = region as unknown as { scrollHeight: number }
      ;(region as unknown as { scrollTop: number }).scrollTop = scrollHeight / 2
    })
    await page
      .getByText(/^Animal number (49|50)\d{3}$/)
      .first()
      .waitFor()
  } finally {
    await close()
  }
})
