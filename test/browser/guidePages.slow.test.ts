import assert from 'node:assert/strict'
import { browserTest } from '../support/browser.ts'
import {
  assertAccessible,
  assertFits,
  assertSound,
  assertSoundInBoth,
  desktop,
  nextFrame,
  phone,
  waitUntil,
} from '../support/console.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { expectCount, expectNone } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

const { service, visit } = useConsole()

async function listGuides(): Promise<string[]> {
  const { text } = await service.request('GET', '/guides')
  return [...text.matchAll(/href="(\/guides\/[\w-]+)"/g)].map((match) => String(match[1]))
}

browserTest('every guide fits on a narrow screen, and wide code scrolls in its block', () =>
  visit(
    '/guides',
    async ({ page }) => {
      const guides = await listGuides()
      assert.ok(guides.length > 0)
      let wideBlocks = 0
      for (const guide of guides) {
        await page.goto(service.base + guide)
        await expectCount(page.getByRole('heading', { level: 1 }), 1)
        await page.getByText('On this page').first().click()
        for (const width of [390, 320]) {
          await page.setViewportSize({ width, height: 700 })
          await assertFits(page)
          wideBlocks += await page.evaluate<number>(scrollWideBlocks)
        }
      }
      assert.ok(wideBlocks > 0)
    },
    phone,
  ),
)

browserTest('the table of contents opens on a phone', () =>
  visit(
    '/guides/keys',
    async (opened) => {
      const { page } = opened
      await page.getByText('On this page').first().click()
      const link = page
        .getByRole('navigation', { name: 'On this page' })
        .getByRole('link', { name: 'Audit log' })
      await link.waitFor()
      await assertSoundInBoth(opened, 'guide-contents')
      await link.click()
      await page.waitForURL('**/guides/keys#audit-log')
    },
    phone,
  ),
)

browserTest('a link to a heading shows it below the navigation bar, on every screen', async () => {
  for (const options of [phone, desktop])
    await visit(
      '/guides/running#backups',
      async ({ page }) => {
        const heading = page.getByRole('heading', { name: 'Backups' })
        await page.getByRole('button', { name: 'Copy' }).first().waitFor()
        await nextFrame(page)
        await eventuallyHolds(async () => {
          const [top, bar] = [await heading.boundingBox(), await page.locator('.bar').boundingBox()]
          assert.ok(
            top && bar && top.y >= bar.y + bar.height && top.y < bar.y + bar.height + 100,
            JSON.stringify(top),
          )
        })
      },
      options,
    )
})

browserTest('without a clipboard, the code is selected', () =>
  visit(
    '/guides/running',
    async (opened) => {
      const { page } = opened
      await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`)
      await page.getByRole('button', { name: 'Copy' }).first().tap()
      await page.getByRole('status').getByText('The code is selected.').waitFor()
      await waitUntil(page, `String(getSelection()) === 'npm ci && npm start'`)
      await assertSound(opened)
      await assertAccessible(page)
    },
    phone,
  ),
)

browserTest('without JavaScript, guides are complete and have no button', () =>
  visit(
    '/guides/running',
    async ({ page }) => {
      await page.getByText('On this page').first().click()
      await expectNone(page.getByRole('button'), page.getByRole('link', { name: 'Settings' }))
      await page.getByText('npm ci && npm start').first().waitFor()
    },
    { ...phone, javaScriptEnabled: false, key: false },
  ),
)

/** Runs in the page: scrolls every block that is wider than its box, and returns how many there are. */
const scrollWideBlocks = `[...document.querySelectorAll('pre')].filter((block) => {
  block.scrollLeft = 10_000
  if (block.scrollWidth <= block.clientWidth) return false
  if (block.scrollLeft === 0) throw new Error('This block does not scroll: ' + block.textContent)
  return true
}).length`
