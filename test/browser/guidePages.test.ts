import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import { browserTest } from '../support/browser.ts'
import { assertSound, waitUntil } from '../support/console.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { expectCount } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

const { visit } = useConsole()

browserTest('the table of contents and the links to other guides work', () =>
  visit('/guides/keys', async (opened) => {
    const { page } = opened
    await assertSound(opened)
    await page
      .getByRole('navigation', { name: 'On this page' })
      .getByRole('link', { name: 'Audit log' })
      .click()
    await page.waitForURL('**/guides/keys#audit-log')
    const others = page.getByRole('navigation', { name: 'Other guides' })
    await expectCount(others.getByRole('link'), 1)
    await others.getByRole('link', { name: /^Next/ }).click()
    await page.getByRole('heading', { level: 1, name: 'Adopting an animal' }).waitFor()
    await others.getByRole('link', { name: /^Previous/ }).click()
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
  }),
)

browserTest('code is copied by keyboard, and the result is announced', () =>
  visit(
    '/guides/running',
    async (opened) => {
      const { page } = opened
      const block = page.locator('.code').first()
      const button = block.getByRole('button', { name: 'Copy' })
      await block.locator('pre').focus()
      await page.keyboard.press('Shift+Tab')
      await eventuallyHolds(async () => assert.equal(await opacityOf(button), '1'))
      await page.keyboard.press('Enter')
      await page.getByRole('status').getByText('Copied').waitFor()
      await waitUntil(page, `navigator.clipboard.readText().then((text) => text === 'npm ci && npm start')`)
      await assertSound(opened)
      await button.waitFor()
    },
    { permissions: ['clipboard-read', 'clipboard-write'] },
  ),
)

const opacityOf = (part: Locator): Promise<string> =>
  part.evaluate(
    (element) =>
      (globalThis as unknown as { getComputedStyle(of: unknown): { opacity: string } }).getComputedStyle(
        element,
      ).opacity,
  )
