import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { createPets } from '../../src/pets/storedPets.ts'
import { browserTest } from '../support/browser.ts'
import {
  assertFits,
  assertSound,
  assertSoundInBoth,
  choose,
  desktop,
  goTo,
  nextFrame,
  phone,
  screenshot,
  waitUntil,
} from '../support/console.ts'
import { eventually, eventuallyHolds } from '../support/eventually.ts'
import { expectCount, expectNone, expectText, expectValue } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

/** Categories, the keyboard, and printing. */

const petCount = 250
const { api, service, visit } = useConsole({}, async ({ api, service }) => {
  await api('POST', '/categories', { name: 'Dogs' })
  for (let index = 0; index < 60; index++) await api('POST', '/categories', { name: `Kind ${index}` })
  const database = await service.openDatabase()
  const pets = Array.from({ length: petCount }, (_, index) => ({
    name: `Animal number ${index} with a long name`,
    categoryId: 1n,
    status: 'available' as const,
  }))
  await database.write((trx) => createPets(trx, pets, service.now()))
})

const dialogOf = (page: Page) => page.getByRole('dialog')
describe('categories', () => {
  browserTest('are sound on every screen with more of them than fit', () =>
    visit(
      'categories',
      async (opened) => {
        const { page } = opened
        await page.getByText('Kind 0', { exact: true }).waitFor()
        await assertSoundInBoth(opened, 'categories-many')
        for (const width of [320, 768, 1_280]) {
          await page.setViewportSize({ width, height: 844 })
          await assertFits(page)
          await screenshot(page, `categories-many-${width}`)
        }
      },
      phone,
    ),
  )

  browserTest('without a name are first and get one', async () => {
    await api('POST', '/pets', { name: 'Nemo', categoryId: 9_000 })
    await visit('categories', async (opened) => {
      const { page } = opened
      await page.getByText('No name yet').waitFor()
      await expectText(page.locator('tbody tr').first(), /No name yet/)
      await choose(page, 'category 9000', 'Give a name')
      await dialogOf(page).getByLabel('Name').fill('Fish')
      await dialogOf(page).getByRole('button', { name: 'Save' }).click()
      await page.getByText('Fish', { exact: true }).first().waitFor()
      assert.equal((await api('GET', '/categories/9000')).name, 'Fish')
      await choose(page, 'Fish', 'Show animals')
      await page.getByText('Nemo').waitFor()
      await expectCount(page.locator('tbody tr'), 1)
    })
  })

  browserTest('one that has animals is not removed, and the console says how many and shows them', () =>
    visit('categories', async (opened) => {
      const { page } = opened
      const dialog = dialogOf(page)
      await choose(page, 'Dogs', 'Remove')
      await dialog.getByRole('button', { name: 'Remove category' }).click()
      await dialog.getByText('100 or more animals are in this category.').waitFor()
      await assertSoundInBoth(opened, 'category-in-use')
      await dialog.getByRole('link', { name: 'Show the animals of Dogs' }).click()
      await expectNone(dialog, page.getByRole('heading', { name: 'Animals', exact: true }))
      await page.waitForURL(/\/console\/animals\?category=1$/)
    }),
  )

  browserTest('show their new name if the response to the change was lost', async () => {
    const { id } = await api('POST', '/categories', { name: 'Hens' })
    const scopes = ['categories:read', 'categories:write']
    const { key } = await service.makeKey({ name: 'Without live updates', scopes })
    const look = async (page: Page) => {
      const dialog = dialogOf(page)
      const loaded = page.waitForResponse(`**/v1/categories/${id}`)
      await choose(page, 'Hens', 'Rename')
      await (await loaded).finished()
      await nextFrame(page)
      await page.route(
        `**/v1/categories/${id}`,
        async (route) => {
          await route.fetch()
          await route.abort()
        },
        { times: 1 },
      )
      await dialog.getByLabel('Name').fill('Chickens')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('The service cannot be reached').waitFor()
      assert.equal((await api('GET', `/categories/${id}`)).name, 'Chickens')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Actions for Chickens', exact: true }).waitFor()
    }
    await visit('categories', ({ page }) => look(page), { key })
    await api('DELETE', `/categories/${id}`)
  })

  browserTest('can only be read with categories:read', async () => {
    const { key } = await service.makeKey({ name: 'Reader', scopes: ['categories:read'] })
    await visit(
      'categories',
      async ({ page }) => {
        const buttons = page.getByRole('button', { name: /^Actions for|^Add category/ })
        await expectNone(buttons, page.getByText('Dogs', { exact: true }))
      },
      { key },
    )
  })
})

describe('the keyboard', () => {
  browserTest('/ goes to the search and ? shows the shortcuts, unless the person types', () =>
    visit(
      'animals',
      async (opened) => {
        const { page } = opened
        const search = page.getByRole('searchbox')
        const focused = page.locator('input[type=search]:focus')
        const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
        await page.getByText('Animal number 249').waitFor()
        await page.keyboard.press('/')
        await focused.waitFor()
        await page.keyboard.type('a/b?')
        await expectValue(search, 'a/b?')
        await nextFrame(page)
        await expectCount(dialog, 0)
        await search.fill('')
        await page.getByRole('heading', { name: 'Animals', exact: true }).click()
        await page.keyboard.press('?')
        await dialog.waitFor()
        await dialog.getByText('Undo the last change, while it can be undone').waitFor()
        await page.keyboard.press('/')
        await nextFrame(page)
        await expectCount(focused, 0)
        await assertSoundInBoth(opened, 'shortcuts-desktop')
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
        await goTo(page, 'limits')
        await page.getByText('This day').waitFor()
        await page.keyboard.press('/')
        await page.keyboard.press('?')
        await dialog.waitFor()
        // A person who uses them by mistake turns them off.
        await dialog.getByLabel('Use / and ? as shortcuts').uncheck()
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
        await page.keyboard.press('?')
        await nextFrame(page)
        await expectCount(dialog, 0)
        await page.reload()
        await page.getByText('This day').waitFor()
        await page.keyboard.press('?')
        await nextFrame(page)
        await expectCount(dialog, 0)
        await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
        await dialog.getByLabel('Use / and ? as shortcuts').check()
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
        await page.keyboard.press('?')
        await dialog.waitFor()
      },
      desktop,
    ),
  )

  browserTest('a dialog that is opened right after the previous one was closed stays open', () =>
    visit('limits', async ({ page }) => {
      const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
      await page.getByText('This day').waitFor()
      await page.keyboard.press('?')
      await dialog.waitFor()
      // Before the browser sends the close event of the first dialog.
      await page.evaluate(`
        globalThis.previousClosed = new Promise((resolve) => {
          document.querySelector('dialog[open]').addEventListener('close', resolve)
        })
        new MutationObserver((_changes, observer) => {
          if (document.querySelector('dialog[open]')) return
          observer.disconnect()
          document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))
        }).observe(document.body, { childList: true, subtree: true })
      `)
      await page.keyboard.press('Escape')
      await page.evaluate('previousClosed')
      await dialog.waitFor()
      await nextFrame(page)
      await expectCount(dialog, 1)
    }),
  )

  browserTest('its shortcuts can be seen on a phone', () =>
    visit(
      'limits',
      async (opened) => {
        const { page } = opened
        await page.getByRole('button', { name: 'Open navigation' }).click()
        await screenshot(page, 'navigation-narrow')
        await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
        await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
        await assertSound(opened)
        await screenshot(page, 'shortcuts-narrow')
      },
      { ...phone, viewport: { width: 320, height: 640 } },
    ),
  )
})

describe('printing', () => {
  const loadAll = (page: Page) =>
    eventually('all animals are loaded', async () => {
      await page.locator('.table-scroll').evaluate((element) => {
        const scrolled = element as unknown as { scrollTop: number; scrollHeight: number }
        scrolled.scrollTop = scrolled.scrollHeight
      })
      return page.getByText(/^\d+ animals$/).isVisible()
    })

  browserTest('a list gives all its loaded rows, and nothing else of the screen', () =>
    visit(
      'animals',
      async ({ page }) => {
        await page.getByText('Animal number 249').waitFor()
        await loadAll(page)
        const count = petCount + (await api('GET', '/pets?id=251')).length
        const scrolledTo = () =>
          page
            .locator('.table-scroll')
            .evaluate((element) => (element as unknown as { scrollTop: number }).scrollTop)
        const top = await scrolledTo()
        await waitUntil(page, `document.querySelectorAll('tbody tr').length < 60`)
        // As the browser prints: the table has its rows when the page is laid out for paper.
        await page.evaluate(`
        globalThis.addEventListener('beforeprint', () => queueMicrotask(() => queueMicrotask(() => {
          globalThis.printedRows = document.querySelectorAll('tbody tr').length
        })))
      `)
        await page.pdf()
        await eventuallyHolds(async () => assert.equal(await page.evaluate('printedRows'), count))
        await waitUntil(page, `document.querySelectorAll('tbody tr').length < 60`)
        await eventuallyHolds(async () => assert.equal(await scrolledTo(), top))
        await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
        await page.setViewportSize({ width: 718, height: 1000 })
        await waitUntil(page, `document.querySelectorAll('tbody tr').length === ${count}`)
        for (const text of ['Animal number 0 with a long name', 'Animal number 249 with a long name'])
          await page.getByText(text, { exact: true }).waitFor()
        for (const hidden of ['.sidebar', '.topbar', '.toolbar', '.page-actions'])
          await page.locator(hidden).waitFor({ state: 'hidden' })
        await expectCount(page.getByRole('button'), 0)
        const layout = await page.evaluate<{
          header: number[]
          cut: number
          scheme: string
          height: number
        }>(`({
        header: [...document.querySelectorAll('th')].map((cell) => cell.offsetWidth),
        cut: [...document.querySelectorAll('td *, td')].filter((cell) => cell.scrollWidth > cell.clientWidth + 1 && getComputedStyle(cell).overflowX !== 'visible').length,
        scheme: getComputedStyle(document.documentElement).colorScheme,
        height: document.documentElement.scrollHeight,
      })`)
        assert.equal(layout.header.length, 4)
        assert.ok(
          layout.header.every((width) => width > 60),
          String(layout.header),
        )
        assert.equal(layout.cut, 0)
        assert.equal(layout.scheme, 'light')
        assert.ok(layout.height > count * 20, String(layout.height))
        await screenshot(page, 'print-animals')
        await page.emulateMedia({ media: 'screen', colorScheme: 'light' })
      },
      desktop,
    ),
  )

  browserTest('of the other lists has whole notes, no navigation and no buttons', async () => {
    const longNote = 'Has a garden and two children. '.repeat(20)
    for (const petId of [1, 2])
      await api('POST', '/store/orders', { petId, customer: { name: 'Ada Example' }, note: longNote })
    await api('PATCH', '/store/orders/1', { status: 'approved' })
    await visit(
      'categories',
      async ({ page }) => {
        await page.emulateMedia({ media: 'print' })
        await page.setViewportSize({ width: 718, height: 1000 })
        for (const [path, ...texts] of [
          ['categories', 'Dogs', 'Kind 59'],
          ['keys', 'operator'],
          ['audit', 'Audit log'],
          [
            'orders',
            'Placed',
            'Approved',
            'Animal number 0 with a long name',
            'Animal number 1 with a long name',
          ],
        ] as const) {
          await goTo(page, path)
          for (const text of texts)
            await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor()
          await expectCount(page.getByRole('navigation'), 0)
          await expectCount(page.getByRole('button'), 0)
          await screenshot(page, `print-${path}`)
        }
        const note = `document.querySelector('.order-note p')`
        await waitUntil(page, `${note}.scrollHeight === ${note}.clientHeight`)
      },
      desktop,
    )
  })
})
