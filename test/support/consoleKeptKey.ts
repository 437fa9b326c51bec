import assert from 'node:assert/strict'
import type { BrowserContext, Page } from 'playwright-core'
import { desktop } from './console.ts'
import { eventuallyHolds } from './eventually.ts'
import type { ConsoleTest, VisitOptions } from './useConsole.ts'

/** What the tests of "Keep me signed in on this device" share. */

export async function signInAndKeep(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key)
  await page.getByLabel('Keep me signed in on this device').check()
  await page.getByRole('button', { name: 'Sign in' }).click()
}

export const isSignedIn = (page: Page) => page.locator('main.content').waitFor()
export const isSignedOut = (page: Page) => page.getByLabel('API key').waitFor()
export const stored = (page: Page) =>
  page.evaluate<Record<string, string>>('({ ...sessionStorage, ...localStorage })')
export const expectStored = (page: Page, values: Record<string, string>) =>
  eventuallyHolds(async () => assert.deepEqual(await stored(page), values))

const staffScopes = ['pets:read', 'categories:read', 'orders:read']

export function keptKeyOf({ service, visit }: ConsoleTest) {
  return {
    makeStaffKey: () => service.makeKey({ name: 'Front desk', plan: 'business', scopes: staffScopes }),
    async openTab(context: BrowserContext, path = 'limits'): Promise<Page> {
      const page = await context.newPage()
      await page.goto(`${service.base}/console/${path}`)
      return page
    },
    /** Opens the console in a browser without a session, with a storage of its own. */
    visitAlone: (run: Parameters<typeof visit>[1], options: VisitOptions = {}) =>
      visit('/console/limits', run, { ...desktop, ...options, key: false }),
  }
}
