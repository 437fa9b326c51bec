import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest } from '../support/browser.ts'
import { assertSound, hostile, phone } from '../support/console.ts'
import { expectTexts } from '../support/expectPage.ts'
import { jpeg } from '../support/images.ts'
import { useConsole } from '../support/useConsole.ts'

const test = useConsole({}, async ({ api, service }) => {
  await api('PATCH', '/store/profile', { name: `Shelter ${hostile}`, adoptionPage: true })
  for (const [name, species] of [
    ['Luna', 'dog'],
    ['Milo', 'cat'],
    ['Bella', 'dog'],
    [hostile, 'cat'],
  ]) {
    const { id } = await api('POST', '/pets', { name, categoryId: 1 })
    await api('PATCH', `/pets/${id}/profile`, { species, sex: 'female', description: `A story. ${hostile}` })
    const upload = {
      key: service.operatorKey,
      body: await jpeg(640, 480),
      headers: { 'content-type': 'image/jpeg' },
    }
    assert.equal((await service.request('POST', `/v1/pets/${id}/photos`, upload)).status, 201)
  }
})
const withoutScripts = { ...phone, javaScriptEnabled: false }

describe('the adoption page', () => {
  browserTest('works without JavaScript: filters, search, an animal and back', () =>
    test.visit(
      '/adopt',
      async ({ page }) => {
        const cards = page.getByRole('main').getByRole('listitem').getByRole('heading')
        await expectTexts(cards, [hostile, 'Bella', 'Milo', 'Luna'])
        await page.getByRole('link', { name: 'Dog' }).click()
        await expectTexts(cards, ['Bella', 'Luna'])
        await page.getByText('Filters').click()
        await page.getByLabel('Sex').selectOption('Male')
        await page.getByRole('button', { name: 'Show animals' }).click()
        await page.waitForURL('**/adopt?species=dog&sex=male')
        await page.getByRole('heading', { name: 'No animal matches' }).waitFor()
        await page.getByRole('link', { name: 'Remove Male' }).click()
        await page.waitForURL('**/adopt?species=dog')
        await page.getByRole('searchbox').fill('luna')
        await page.getByRole('button', { name: 'Search' }).click()
        await page.waitForURL('**/adopt?q=luna&species=dog')
        await page.getByRole('link', { name: 'Luna', exact: true }).click()
        await page.getByRole('heading', { name: 'Luna', level: 1 }).waitFor()
        await page.getByText(hostile).first().waitFor()
        await page.getByRole('link', { name: 'All animals' }).click()
        await page.waitForURL('**/adopt')
      },
      { key: false, ...withoutScripts },
    ),
  )

  browserTest('runs no script, loads nothing from elsewhere and fits a phone', () =>
    test.visit(
      '/adopt',
      async (opened) => {
        await assertSound(opened)
        await opened.page.getByRole('link', { name: hostile, exact: true }).click()
        await opened.page.getByRole('heading', { name: hostile, level: 1 }).waitFor()
        await assertSound(opened)
      },
      { key: false, ...phone },
    ),
  )
})
