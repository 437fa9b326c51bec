import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import axe, { type AxeResults } from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openPage, type PageVisit } from './browser.ts'

export const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
export const desktop = { viewport: { width: 1280, height: 860 } }

/**
 * Pages are rate limited by address, and the clock of a test service stands still. A test with many visits gives each
 * one another address.
 */
export const addressTrusted = { PETSTORE_TRUSTED_PROXIES: '127.0.0.1' }
let visits = 0
export const nextAddress = () => ({
  extraHTTPHeaders: { 'x-forwarded-for': `198.51.100.${++visits % 250}` },
})

export type Console = PageVisit & { close(): Promise<void> }

/** Opens the console, and signs in if there is a key. */
export async function openConsole(
  browser: Browser,
  base: string,
  { key, path = '/console', ...options }: BrowserContextOptions & { key?: string; path?: string } = {},
): Promise<Console> {
  const visit = await openPage(browser, base, { ...desktop, ...options })
  await visit.page.goto(base + path)
  if (key !== undefined) await signIn(visit.page, key)
  return { ...visit, close: () => visit.page.context().close() }
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('main.content').waitFor()
}

/** What holds for every screen: no violation of the policy, no error, no other host, nothing cut off, no axe finding. */
export async function assertSound({
  page,
  strayRequests,
  consoleErrors,
  policyViolations,
}: PageVisit): Promise<void> {
  assert.deepEqual(strayRequests, [], 'The console sends requests to another origin.')
  assert.deepEqual(await policyViolations(), [], 'The console breaks its own policy.')
  // The browser itself reports every error response.
  const errors = consoleErrors.filter((text) => !/^Failed to load resource/.test(text))
  assert.deepEqual(errors, [], 'The console has errors.')
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  assert.equal(overflow, 0, 'The page is wider than the screen.')
  await assertAccessible(page)
}

export async function assertAccessible(page: Page): Promise<void> {
  // Colours are measured when nothing moves.
  await page.evaluate(
    'Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {})))',
  )
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })`,
  )
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
  assert.deepEqual(found, [])
}

/** The key is nowhere but in sessionStorage. */
export async function assertKeyHidden(page: Page, key: string): Promise<void> {
  assert.ok(!(await page.content()).includes(key), 'The key is in the document.')
  const values = await page
    .locator('input')
    .evaluateAll((inputs) => inputs.map((input) => (input as unknown as { value: string }).value))
  assert.ok(!values.includes(key), 'The key is in a field.')
  assert.ok(!page.url().includes(key), 'The key is in the URL.')
}

/** Saves a picture of the screen if PETSTORE_TEST_SCREENSHOTS names a folder. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.PETSTORE_TEST_SCREENSHOTS
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' })
}
