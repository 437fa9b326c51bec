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
} from '../support/console.ts'
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
        assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, guide)
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
      assert.equal(new URL(page.url()).hash, '#audit-log')
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
        const [top, bar] = await Promise.all(
          [heading, page.locator('.bar')].map(async (part) => part.boundingBox()),
        )
        assert.ok(
          top && bar && top.y >= bar.y + bar.height && top.y < bar.y + bar.height + 100,
          JSON.stringify(top),
        )
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
      assert.equal(await page.evaluate('String(getSelection())'), 'npm ci && npm start')
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
      await page.getByRole('link', { name: 'Settings' }).waitFor()
      assert.equal(await page.getByRole('button').count(), 0)
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
