import assert from 'node:assert/strict'
import { beforeEach, describe } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest, hasBrowser } from '../support/browser.ts'
import { assertSound, hostile } from '../support/console.ts'
import { expectAttribute, expectChecked, expectNone } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

const { api, service, visit } = useConsole()
const path = '/store/profile'
const empty = {
  ...{ name: null, about: null, phone: null, email: null, url: null, address: null },
  adoptionPage: false,
}
beforeEach(async () => {
  if (hasBrowser) await api('PATCH', path, empty)
})

const dialogOf = (page: Page) => page.getByRole('dialog')
const pressInDialog = (page: Page, name: string) => dialogOf(page).getByRole('button', { name }).click()
const switchOf = (page: Page) => page.getByRole('switch', { name: 'Show the adoption page' })

describe('the store screen', () => {
  browserTest('shows and changes the data of the store', () =>
    visit('store', async (opened) => {
      const { page } = opened
      const dialog = dialogOf(page)
      await page.getByText('Not set').first().waitFor()
      await page.getByRole('button', { name: 'Edit' }).click()
      await dialog.getByLabel('Name').fill(hostile)
      await dialog.getByLabel('Phone').fill(' 030 123 ')
      await dialog.getByLabel('Web site').fill('http://shelter.example')
      await dialog.getByLabel('E-mail').fill('shelter')
      await pressInDialog(page, 'Save')
      await dialog.getByText('Must be an https address').waitFor()
      await dialog.getByText('Must be an e-mail address').waitFor()
      await dialog.getByLabel('Web site').fill('https://shelter.example')
      await dialog.getByLabel('E-mail').fill('')
      await dialog.getByLabel('About').fill('We find homes.\nSince 1987.')
      await pressInDialog(page, 'Save')
      await page.getByText('Store profile saved.').waitFor()
      await page.locator('.facts').getByText(hostile).waitFor()
      const expected = { name: hostile, phone: '030 123', url: 'https://shelter.example', email: null }
      const profile = await api('GET', path)
      assert.deepEqual({ ...profile, ...expected, about: 'We find homes.\nSince 1987.' }, profile)
      await assertSound(opened)
    }),
  )

  browserTest('turns the adoption page on and off by keyboard, and says where it is', () =>
    visit(
      'store',
      async (opened) => {
        const { page } = opened
        const link = page.getByRole('link', { name: 'Open the adoption page' })
        await expectNone(link, page.getByText('PETSTORE_PUBLIC_URL'))
        await switchOf(page).focus()
        await page.keyboard.press('Space')
        await page.getByText('The adoption page is on.').waitFor()
        await expectChecked(switchOf(page), true)
        await expectAttribute(link, 'href', `${service.base}/adopt`)
        assert.equal((await api('GET', path)).adoptionPage, true)
        await assertSound(opened)
        await page.keyboard.press('Space')
        await page.getByText('The adoption page is off.').waitFor()
        await link.waitFor({ state: 'detached' })
        assert.equal((await api('GET', path)).adoptionPage, false)
      },
      { viewport: { width: 320, height: 640 } },
    ),
  )

  browserTest('shows the page as it was after a change that failed', () =>
    visit('store', async ({ page }) => {
      await page.route('**/v1/store/profile', (route) =>
        route.request().method() === 'PATCH'
          ? route.fulfill({ status: 400, json: { code: 'validation_failed', message: 'No.', status: 400 } })
          : route.continue(),
      )
      await switchOf(page).click()
      await page.getByText('No.', { exact: true }).waitFor()
      await expectChecked(switchOf(page), false)
    }),
  )

  browserTest('shows what others change, and does not overwrite it before that was seen', async () => {
    await visit('store', async ({ page }) => {
      await page.getByText('Live', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Edit' }).click()
      await dialogOf(page).getByLabel('Phone').fill('030 1')
      await api('PATCH', path, { name: 'Second Chance', phone: '040 2' })
      await dialogOf(page).getByText('Someone else has changed this to 040 2.').waitFor()
      await pressInDialog(page, 'Save')
      await page.getByText('Store profile saved.').waitFor()
      await page.locator('.facts').getByText('Second Chance').waitFor()
      assert.equal((await api('GET', path)).phone, '030 1')
    })
    const scopes = ['pets:read', 'keys:manage']
    const { key } = await service.makeKey({ name: 'Without live updates', scopes })
    const look = async (page: Page) => {
      await page.getByRole('button', { name: 'Edit' }).click()
      await dialogOf(page).getByLabel('Name').fill('Found Home')
      await api('PATCH', path, { name: 'Third Chance' })
      await pressInDialog(page, 'Save')
      await dialogOf(page).getByText('Nothing was saved.').waitFor()
      await dialogOf(page).getByText('Someone else has changed this to Third Chance.').waitFor()
      assert.equal((await api('GET', path)).name, 'Third Chance')
      await pressInDialog(page, 'Save')
      await page.getByText('Store profile saved.').waitFor()
      assert.equal((await api('GET', path)).name, 'Found Home')
    }
    await visit('store', ({ page }) => look(page), { key })
  })

  browserTest('is read only without keys:manage', async () => {
    await api('PATCH', path, { name: 'Second Chance', adoptionPage: true })
    const { key } = await service.makeKey({ name: 'Reader', scopes: ['pets:read'] })
    await visit(
      'store',
      async ({ page }) => {
        await page.getByText('Second Chance').waitFor()
        const link = page.getByRole('link', { name: 'Open the adoption page' })
        await expectNone(page.getByRole('button', { name: 'Edit' }), link)
        await expectNone(switchOf(page), link)
      },
      { key },
    )
  })
})
