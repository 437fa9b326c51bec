import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import type { PageVisit } from './browser.ts'
import { eventually, eventuallyHolds } from './eventually.ts'
import { expectCount } from './expectPage.ts'

/** What the tests of the console do with a page. */

export const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
export const desktop = { viewport: { width: 1280, height: 860 } }

/** A name that runs as a script wherever it is not text. */
export const hostile = '<img src=x onerror=alert(1)>'

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('main.content').waitFor()
}

/** Goes to a screen as a link of the console does, without loading the document again. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', '/console/${path}'); dispatchEvent(new Event('popstate'))`)
}

/** Chooses an action from the menu of a row. */
export async function choose(page: Page, name: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}`, exact: true }).click()
  await page.getByRole('menuitem', { name: action }).click()
}

/** What holds for every screen: no violation of the policy, no error, no other host, nothing cut off. */
export async function assertSound(opened: PageVisit): Promise<void> {
  const { page, strayRequests, consoleErrors, policyViolations } = opened
  assert.deepEqual(strayRequests, [], 'The console sends requests to another origin.')
  assert.deepEqual(await policyViolations(), [], 'The console breaks its own policy.')
  // The browser itself reports every error response.
  const errors = consoleErrors.filter((text) => !/^Failed to load resource/.test(text))
  assert.deepEqual(errors, [], 'The console has errors.')
  await assertFits(page)
}

/** The same, and no finding of axe in either colour scheme, with a picture of each. For slow tests: axe takes long. */
export async function assertSoundInBoth(opened: PageVisit, name: string): Promise<void> {
  const { page } = opened
  await assertSound(opened)
  await assertAccessible(page)
  await screenshot(page, `${name}-light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  // The document is the same, so only its colours are checked again.
  await assertAccessible(page, colourRules)
  await screenshot(page, `${name}-dark`)
  await page.emulateMedia({ colorScheme: 'light' })
}

export async function assertFits(page: Page): Promise<void> {
  // Before that, the stylesheet may be missing.
  await page.waitForLoadState()
  await eventuallyHolds(async () => {
    const overflows = await page.evaluate<number[]>(
      `[document.documentElement, ...document.querySelectorAll('main.content')]
        .map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)`,
    )
    assert.equal(Math.max(...overflows), 0, 'The page is wider than the screen.')
    // In the console, only the content scrolls.
    const excess = await page.evaluate<number>(
      `document.querySelector('main.content') ? document.documentElement.scrollHeight - innerHeight : 0`,
    )
    assert.ok(excess <= 0, `The document is ${excess} pixels higher than the window.`)
  })
}

const axeSource = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const allRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const colourRules = ['color-contrast', 'link-in-text-block']

/** axe-core finds nothing. `selector` limits it to a part of the page. */
export async function assertAccessible(page: Page, rules = allRules, selector = ''): Promise<void> {
  // Colours are measured when nothing moves.
  await page.evaluate(
    'Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {})))',
  )
  if (await page.evaluate(`typeof axe === 'undefined'`)) await page.evaluate(axeSource)
  const options = JSON.stringify({ runOnly: rules, resultTypes: ['violations'] })
  const part = selector === '' ? 'document' : JSON.stringify(selector)
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${part}, ${options})`)
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
  assert.deepEqual(found, [])
}

/** The key is nowhere but in sessionStorage. */
export async function assertKeyHidden(page: Page, key: string): Promise<void> {
  await eventuallyHolds(async () => {
    assert.ok(!(await page.content()).includes(key), 'The key is in the document.')
    const values = await page
      .locator('input')
      .evaluateAll((inputs) => inputs.map((input) => (input as unknown as { value: string }).value))
    assert.ok(!values.includes(key), 'The key is in a field.')
    assert.ok(!page.url().includes(key), 'The key is in the URL.')
    const stored = await page.evaluate<string>('JSON.stringify(localStorage) + document.cookie')
    assert.ok(!stored.includes(key), 'The key is in localStorage or in a cookie.')
  })
}

/** Records where a page puts text that must not contain the key: the URLs of requests, and the console of the browser. */
export function recordPublicText(page: Page): string[] {
  const texts: string[] = []
  page.on('request', (request) => void texts.push(request.url()))
  page.on('console', (message) => void texts.push(message.text()))
  return texts
}

/** Waits until what has changed is drawn. */
export async function nextFrame(page: Page): Promise<void> {
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
}

/** Waits until a JavaScript expression is true in the page. The policy of a page forbids `waitForFunction` with a text. */
export async function waitUntil(page: Page, expression: string): Promise<void> {
  await eventually(expression, () => page.evaluate<boolean>(expression))
}

/** Saves a picture of the screen if PETSTORE_TEST_SCREENSHOTS names a folder. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.PETSTORE_TEST_SCREENSHOTS
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  // Charts are drawn again after the colours have changed.
  await nextFrame(page)
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' })
}

/** Signs out while the change that `act` sends to `url` has no response. */
export async function assertSilentSignOut(
  page: Page,
  url: string,
  act: () => Promise<unknown>,
): Promise<void> {
  const sent = Promise.withResolvers<void>()
  await page.route(url, (route) => (route.request().method() === 'GET' ? route.continue() : sent.resolve()))
  await act()
  await sent.promise
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API key').waitFor()
  // The request ends before the next frame.
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))')
  await expectCount(page.getByText('The session has ended.'), 0)
}
