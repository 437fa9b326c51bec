import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest } from '../support/browser.ts'
import { assertAccessible, waitUntil } from '../support/console.ts'
import { expectStored, isSignedIn, isSignedOut, keptKeyOf, signInAndKeep } from '../support/consoleKeptKey.ts'
import { startTestService } from '../support/service.ts'
import { useConsole } from '../support/useConsole.ts'

/** "Keep me signed in on this device": one session for all tabs of a browser. */

const test = useConsole()
const { api, service } = test
const { makeStaffKey, openTab, visitAlone } = keptKeyOf(test)
const dayMs = 24 * 60 * 60_000

/**
 * A tab shows a screen that has sent its only request. It sends no other for a minute, so what happens to the key is found
 * out by the tab that the test chooses.
 */
const quietScopes = ['categories:read']
const makeQuietKey = () => service.makeKey({ name: 'Front desk', plan: 'business', scopes: quietScopes })
const isQuiet = (page: Page) => page.getByText('No categories yet').waitFor()

/** Signs in `page` and opens another tab. */
async function keepInTwoQuietTabs(page: Page, key: string): Promise<Page> {
  await page.goto(`${service.base}/console/categories`)
  await signInAndKeep(page, key)
  await isQuiet(page)
  const open = await openTab(page.context(), 'categories')
  await isQuiet(open)
  return open
}

const setUnusedFor = (page: Page, ms: number) =>
  page.evaluate(`localStorage.setItem('petstore.keptKeyUsedAt', String(Date.now() - ${ms}))`)
const isUsed = (page: Page) =>
  waitUntil(page, `localStorage['petstore.keptKeyUsedAt'] > Date.now() - ${dayMs}`)

describe('a session that the device keeps', () => {
  browserTest('takes over a tab that was signed in with the same key before, and no tab of another key', () =>
    visitAlone(async ({ page }) => {
      const { key } = await makeStaffKey()
      const { key: otherKey } = await makeStaffKey()
      const signInAlone = async (own: string) => {
        const tab = await openTab(page.context())
        await tab.getByLabel('API key').fill(own)
        await tab.getByRole('button', { name: 'Sign in' }).click()
        await isSignedIn(tab)
        return tab
      }
      const same = await signInAlone(key)
      const other = await signInAlone(otherKey)
      await signInAndKeep(page, key)
      await isSignedIn(page)
      await waitUntil(same, `sessionStorage.length === 0`)
      await page.getByRole('button', { name: 'Sign out' }).click()
      await isSignedOut(same)
      await same.getByText('You signed out in another tab').waitFor()
      await assertAccessible(same)
      await other.reload()
      await isSignedIn(other)
    }),
  )

  browserTest('ends after 30 days without use, also in an open tab, and not before', () =>
    visitAlone(async ({ page }) => {
      const { key } = await makeStaffKey()
      await signInAndKeep(page, key)
      await isSignedIn(page)
      await setUnusedFor(page, 29 * dayMs)
      await page.reload()
      await isSignedIn(page)
      // The page that was opened is a use.
      await isUsed(page)
      await setUnusedFor(page, 29 * dayMs)
      await page.getByRole('heading', { name: 'Limits' }).click()
      await isUsed(page)
      await setUnusedFor(page, 30 * dayMs)
      await page.reload()
      await page.getByText('was not used on this device for 30 days').waitFor()
      await expectStored(page, {})
      await signInAndKeep(page, key)
      await isSignedIn(page)
      const open = await openTab(page.context())
      await isSignedIn(open)
      await page.clock.install()
      await page.reload()
      await isSignedIn(page)
      await page.clock.fastForward(31 * dayMs)
      await page.getByText('was not used on this device for 30 days').waitFor()
      await isSignedOut(open)
      await expectStored(page, {})
    }),
  )

  browserTest('ends everywhere when the key is revoked or rotated, and the stored copy is removed', () =>
    visitAlone(async ({ page }) => {
      const revoked = await makeQuietKey()
      const open = await keepInTwoQuietTabs(page, revoked.key)
      await api('DELETE', `/keys/${revoked.id}`)
      await page.getByRole('link', { name: 'Limits' }).click()
      // The tab whose request is rejected knows the reason.
      await page.getByText('has been revoked').waitFor()
      for (const tab of [page, open]) await isSignedOut(tab)
      await expectStored(page, {})
      const rotated = await makeQuietKey()
      await page.goto(`${service.base}/console/categories`)
      await signInAndKeep(page, rotated.key)
      for (const tab of [page, open]) await isQuiet(tab)
      await api('POST', `/keys/${rotated.id}/rotate`, { overlapSeconds: 0 })
      await page.reload()
      await page.getByText('This key does not work here').waitFor()
      await isSignedOut(open)
      await expectStored(page, {})
    }),
  )

  const waysToLearn: Record<string, (page: Page) => Promise<unknown>> = {
    'the page is loaded': (page) => page.reload(),
    'a minute has passed': (page) => page.clock.fastForward(60_000),
    'the Limits screen is opened': (page) => page.getByRole('link', { name: 'Limits' }).click(),
  }
  for (const [moment, learn] of Object.entries(waysToLearn))
    browserTest(`ends for a key that has become one that can manage keys, when ${moment}`, () =>
      visitAlone(async ({ page }) => {
        const { id, key } = await makeQuietKey()
        await page.clock.install()
        const open = await keepInTwoQuietTabs(page, key)
        // Both tabs have this clock. The other tab learns from this one only.
        await open.route('**/v1/limits', () => undefined)
        await api('PATCH', `/keys/${id}`, { scopes: [...quietScopes, 'keys:manage'] })
        await learn(page)
        await page.getByText('A key that can manage keys is never kept on a device').waitFor()
        await expectStored(page, { 'petstore.key': key })
        await page.getByRole('link', { name: 'Keys', exact: true }).waitFor()
        await isSignedOut(open)
        await open.getByText('or it can manage keys').waitFor()
        await expectStored(open, {})
      }),
    )

  browserTest('survives an outage, and can be ended during it', () =>
    visitAlone(async ({ page }) => {
      const { key } = await makeStaffKey()
      await signInAndKeep(page, key)
      await isSignedIn(page)
      const offline = await openTab(page.context())
      await isSignedIn(offline)
      await offline.route('**/v1/limits', (route) => route.abort())
      await offline.reload()
      await offline.getByText('The service cannot be reached').waitFor()
      await offline.unroute('**/v1/limits')
      await offline.getByRole('button', { name: 'Try again' }).click()
      await isSignedIn(offline)
      await offline.route('**/v1/limits', (route) => route.abort())
      await offline.reload()
      await offline.getByText('The service cannot be reached').waitFor()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await isSignedOut(offline)
    }),
  )
})

browserTest('an operator key of 255 visible characters of every kind signs in', async () => {
  const visible = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join('')
  const operatorKey = visible.repeat(3).slice(0, 255)
  const other = await startTestService({ PETSTORE_ADMIN_KEY: operatorKey }, { startAt: 'now' })
  try {
    await visitAlone(
      async ({ page }) => {
        await page.getByLabel('API key').fill(operatorKey)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await isSignedIn(page)
        await page.reload()
        await isSignedIn(page)
        await page.getByRole('link', { name: 'Keys', exact: true }).click()
        await page.getByText('1 key', { exact: true }).waitFor()
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.getByLabel('API key').fill(`${operatorKey}!`)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.getByText('A key has at most 255').waitFor()
      },
      { service: other },
    )
  } finally {
    await other.stop()
  }
})
