import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest } from '../support/browser.ts'
import { assertSound, screenshot } from '../support/console.ts'
import {
  expectStored,
  isSignedIn,
  isSignedOut,
  keptKeyOf,
  signInAndKeep,
  stored,
} from '../support/consoleKeptKey.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { expectChecked } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

/** "Keep me signed in on this device": one session for all tabs of a browser. */

const test = useConsole()
const { service } = test
const { makeStaffKey, openTab, visitAlone } = keptKeyOf(test)

describe('a session that the device keeps', () => {
  browserTest('is off unless the person asks for it', () =>
    visitAlone(async ({ page }) => {
      const { key } = await makeStaffKey()
      await expectChecked(page.getByLabel('Keep me signed in on this device'), false)
      await page.getByLabel('API key').fill(key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await isSignedIn(page)
      await expectStored(page, { 'petstore.key': key })
      await isSignedOut(await openTab(page.context()))
    }),
  )

  browserTest('is that of new and of open tabs, and signing out in one of them ends it in all', () =>
    visitAlone(async (opened) => {
      const { page } = opened
      const { key } = await makeStaffKey()
      const before = await openTab(page.context())
      await isSignedOut(before)
      await signInAndKeep(page, key)
      await isSignedIn(page)
      await isSignedIn(before)
      const after = await openTab(page.context())
      await isSignedIn(after)
      await after.reload()
      await isSignedIn(after)
      for (const tab of [page, before, after]) {
        await eventuallyHolds(async () => {
          const { 'petstore.keptKey': kept, ...others } = await stored(tab)
          assert.equal(kept, key)
          assert.ok(!JSON.stringify(others).includes(key))
        })
      }
      await before.getByRole('button', { name: 'Sign out' }).click()
      for (const tab of [page, before, after]) {
        await isSignedOut(tab)
        await expectStored(tab, {})
      }
      await page.getByText('You signed out in another tab').waitFor()
      await isSignedOut(await openTab(page.context()))
    }),
  )

  browserTest('is refused to a key that can manage keys, and the console says why', () =>
    visitAlone(async (opened) => {
      const { page } = opened
      await signInAndKeep(page, service.operatorKey)
      await isSignedIn(page)
      await page.getByText('A key that can manage keys is never kept on a device').waitFor()
      await screenshot(page, 'sign-in-not-kept')
      await expectStored(page, { 'petstore.key': service.operatorKey })
      await isSignedOut(await openTab(page.context()))
      await assertSound(opened)
    }),
  )
})
