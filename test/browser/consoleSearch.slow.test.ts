import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest } from '../support/browser.ts'
import { phone } from '../support/console.ts'
import { addCategories, animalsOf, row } from '../support/consoleAnimals.ts'
import { expectNone, expectValue } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

const test = useConsole({}, addCategories)
const { service } = test
const { addPet, addProfile, indexed, withAnimals } = animalsOf(test)

const searchField = (page: Page) => page.getByLabel('Search animals')

describe('the search', () => {
  browserTest('covers all animals, by words of the profile, by intake number and by id', async () => {
    const profile = { externalId: '4711', description: 'Loves swimming', breeds: ['newfoundland'] }
    const { id } = await addProfile('Tide', profile, { status: 'sold' })
    await addPet('Ebb')
    await indexed('q=swimming')
    await withAnimals(async ({ page }) => {
      await row(page, 'Ebb').waitFor()
      for (const text of ['newfound', 'SWIM', '4711', String(id)]) {
        await searchField(page).fill(text)
        await row(page, 'Ebb').waitFor({ state: 'detached' })
        await row(page, 'Tide').waitFor()
        await searchField(page).fill('')
        await row(page, 'Ebb').waitFor()
      }
      await searchField(page).fill('zz')
      await page.getByText('Type at least three letters').waitFor()
      await searchField(page).fill('unknown')
      await page.getByText('All animals were searched').waitFor()
      await page.getByRole('main').getByRole('button', { name: 'Clear search and filters' }).last().click()
      await row(page, 'Ebb').waitFor()
    })
  })

  browserTest('is cleared with its text, on a phone and on a desktop', async () => {
    await addProfile('Coral', { breeds: ['whippet'] })
    await addPet('Shell')
    await indexed('q=whippet')
    const clear = async (page: Page, name: string) => {
      await searchField(page).fill('whippet')
      await row(page, 'Shell').waitFor({ state: 'detached' })
      await page.waitForURL(/\?q=whippet$/)
      await page.getByRole('button', { name, exact: true }).click()
      await row(page, 'Shell').waitFor()
      await row(page, 'Coral').waitFor()
      await expectValue(searchField(page), '')
      await page.waitForURL(/\/console\/animals$/)
    }
    await withAnimals(async ({ page }) => {
      await clear(page, 'Clear search')
      await page.locator('input[type=search]:focus').waitFor()
    }, phone)
    await withAnimals(({ page }) => clear(page, 'Clear search and filters'))
  })

  browserTest('waits for the index that is being built', () =>
    withAnimals(async ({ page }) => {
      let isBuilding = true
      const json = {
        code: 'unavailable',
        message: 'The search index is being built. Retry after "Retry-After".',
        status: 503,
      }
      await page.route('**/v1/listings?*q=*', (route) =>
        isBuilding ? route.fulfill({ status: 503, headers: { 'retry-after': '1' }, json }) : route.continue(),
      )
      await searchField(page).fill('unknown')
      await page.getByText('The search index is being built. Trying again in').waitFor()
      isBuilding = false
      await page.getByText('No animals match').waitFor()
    }),
  )

  browserTest('is narrowed by filters that are in the URL and fold on a phone', async () => {
    const fields = { categoryId: 2 }
    await addProfile('Nia', { species: 'cat', sex: 'female', size: 'small', ageGroup: 'adult' }, fields)
    await addProfile('Ned', { species: 'cat', sex: 'male', listed: false }, fields)
    await indexed('species=cat&sex=male')
    await withAnimals(async ({ page }) => {
      await page.getByRole('button', { name: 'Filters' }).click()
      await page.getByLabel('Species').fill('cat')
      await page.getByLabel('Category', { exact: true }).selectOption({ label: 'Cats' })
      await row(page, 'Ned').waitFor()
      await page.getByLabel('Sex', { exact: true }).selectOption('female')
      await row(page, 'Ned').waitFor({ state: 'detached' })
      await page.getByLabel('Age', { exact: true }).selectOption('adult')
      await page.getByLabel('Size', { exact: true }).selectOption('small')
      await row(page, 'Nia').waitFor()
      await page.waitForURL(/\?category=2&species=cat&sex=female&age=adult&size=small$/)
      await page.reload()
      await row(page, 'Nia').waitFor()
      await page.getByRole('button', { name: 'Filters (5)' }).click()
      await page.getByRole('button', { name: 'Clear search and filters' }).click()
      await page.getByLabel('Listed', { exact: true }).selectOption('false')
      await row(page, 'Ned').waitFor()
      await row(page, 'Nia').waitFor({ state: 'detached' })
    }, phone)
  })

  browserTest('shows a key that cannot change animals what is public', async () => {
    await addProfile('Hidden', { listed: false })
    await addPet('Public', { status: 'sold' })
    const { key } = await service.makeKey({ scopes: ['pets:read'] })
    await withAnimals(
      async ({ page }) => {
        await expectNone(row(page, 'Hidden'), row(page, 'Public'))
        await expectNone(page.getByRole('checkbox'), row(page, 'Public'))
      },
      { key },
    )
  })
})
