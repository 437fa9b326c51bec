import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Route } from 'playwright-core'
import { browserTest } from '../support/browser.ts'
import { choose } from '../support/console.ts'
import { addCategories, animalsOf } from '../support/consoleAnimals.ts'
import { useConsole } from '../support/useConsole.ts'

/** What the console sends, and keeps, while a person edits something that others edit too. */

const test = useConsole({}, addCategories)
const { api } = test
const { addPet, withAnimals } = animalsOf(test)

describe('the dialog that edits an animal', () => {
  browserTest('sends nothing before the person saves, and then only if the animal is as shown', async () => {
    const { id } = await addPet('Pippin')
    await withAnimals(async ({ page }) => {
      const changes: (string | null)[] = []
      page.on('request', (request) => {
        if (request.method() === 'PATCH') changes.push(request.postData())
      })
      await choose(page, 'Pippin', 'Edit')
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Status').waitFor()
      await api('PATCH', `/pets/${id}`, { categoryId: 2 })
      await dialog.getByText('it is now Pippin, Cats, available').waitFor()
      // Someone else changes the animal again, just before the change arrives.
      const changeFirst = async (route: Route) => {
        await api('PATCH', `/pets/${id}`, { name: 'Peregrin' })
        await route.continue()
      }
      await page.route(`**/v1/pets/${id}`, changeFirst, { times: 1 })
      await dialog.getByLabel('Status').selectOption('pending')
      assert.deepEqual(changes, [])
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('Nothing was saved.').waitFor()
      await dialog.getByText('it is now Peregrin, Cats, available').waitFor()
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.deepEqual(changes, ['{"status":"pending"}', '{"status":"pending"}'])
      const [pet] = await api('GET', `/pets?id=${id}`)
      assert.deepEqual([pet.name, pet.status], ['Peregrin', 'pending'])
    })
  })
})
