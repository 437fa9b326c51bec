import { describe } from 'node:test'
import { browserTest } from '../support/browser.ts'
import { assertAccessible, phone } from '../support/console.ts'
import { addCategories, animalsOf, row } from '../support/consoleAnimals.ts'
import { addPhoto } from '../support/consoleData.ts'
import { jpeg } from '../support/images.ts'
import { useConsole } from '../support/useConsole.ts'

const test = useConsole({}, addCategories)
const { api, service, visit } = test
const { addPet, indexed } = animalsOf(test)

describe('axe finds nothing', () => {
  browserTest('in the gallery on a phone', async () => {
    const { id } = await addPet('Maple')
    await api('PATCH', `/pets/${id}/profile`, { species: 'dog', breeds: ['beagle'], ageGroup: 'young' })
    await addPhoto(service, id, await jpeg(600, 900))
    await addPet('Otto Long')
    await api('PATCH', `/pets/${(await addPet('Uma')).id}/profile`, { listed: false })
    await visit(
      'animals?view=gallery',
      async ({ page }) => {
        for (const name of ['Maple', 'Otto Long', 'Uma'])
          await page.getByRole('article').filter({ hasText: name }).waitFor()
        await assertAccessible(page)
      },
      phone,
    )
  })

  browserTest('in the filters of the search on a phone', async () => {
    const { id } = await addPet('Nia', { categoryId: 2 })
    const profile = { species: 'cat', sex: 'female', size: 'small', ageGroup: 'adult' }
    await api('PATCH', `/pets/${id}/profile`, profile)
    await visit(
      'animals?category=2&species=cat&sex=female&age=adult&size=small',
      async ({ page }) => {
        await row(page, 'Nia').waitFor()
        await page.getByRole('button', { name: 'Filters (5)' }).click()
        await page.getByLabel('Size', { exact: true }).waitFor()
        await assertAccessible(page)
      },
      phone,
    )
  })

  browserTest('in the dialog that changes several animals', async () => {
    const names = ['Ivy', 'Iris', 'Ida']
    for (const name of names) await addPet(name, { categoryId: 2 })
    await indexed('categoryId=2&q=Ida')
    await visit('animals?category=2', async ({ page }) => {
      for (const name of names) await page.getByLabel(`Select ${name}`, { exact: true }).press('Space')
      await page.getByRole('button', { name: 'Change…' }).press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Change 3 animals' })
      await dialog.getByLabel('New value').selectOption('sold')
      await assertAccessible(page)
    })
  })
})
