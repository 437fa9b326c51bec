import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { browserTest } from '../support/browser.ts'
import { choose, desktop, goTo, phone, screenshot } from '../support/console.ts'
import { animalPageOf, part } from '../support/consoleAnimalPage.ts'
import { addCategories, animalsOf } from '../support/consoleAnimals.ts'
import { eventually } from '../support/eventually.ts'
import { expectValue } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

/** What the console sends, and keeps, while a person edits something that others edit too. */

const test = useConsole({}, addCategories)
const { api } = test
const { addPet, withAnimals } = animalsOf(test)
const { addPet: addAnimal, profileOf, withPage } = animalPageOf(test)

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

describe('what is typed while a save is under way', () => {
  const description = (page: Page) => page.getByRole('textbox', { name: 'Description' })
  const restored = (page: Page) =>
    page.getByText('What you typed here last was not saved. It is here again.').waitFor()
  const conflict = (page: Page) => page.getByText('Someone else has changed this.')
  const stored = (page: Page) => page.evaluate<string>('JSON.stringify(localStorage)')

  /** Types a text whose save gets no response, and then more. With `isLost`, the service does not get the save either. */
  async function typeDuringSave(page: Page, { isLost = false } = {}) {
    const sent = Promise.withResolvers<void>()
    const hold = async (route: Route) => {
      if (!isLost) await route.fetch()
      sent.resolve()
    }
    await page.route('**/profile', hold, { times: 1 })
    await description(page).fill('Calm.')
    await sent.promise
    await description(page).fill('Calm, and fond of children.')
  }
  const isSaved = (id: number) =>
    eventually('the text', async () => (await profileOf(id)).description === 'Calm, and fond of children.')

  /** With a storage of its own. */
  const open = (id: number, run: (page: Page) => Promise<void>, size = desktop) =>
    withPage(id, ({ page }) => run(page), size)

  browserTest('is saved when the page is closed, if the service did not get that save', async () => {
    const id = await addAnimal('Held')
    await open(id, async (page) => {
      await typeDuringSave(page, { isLost: true })
      await page.goto('about:blank')
      await isSaved(id)
    })
  })

  browserTest('is saved when the animal is opened again, if the service has that save', async () => {
    const id = await addAnimal('Late')
    await open(id, async (page) => {
      await typeDuringSave(page)
      await page.reload()
      await restored(page)
      await isSaved(id)
      await part(page, 'Description').getByText('Saved').waitFor()
      await expectValue(description(page), 'Calm, and fond of children.')
      await conflict(page).waitFor({ state: 'detached' })
      assert.equal(await stored(page), '{}')
    })
  })

  browserTest('is shown in another tab later, beside what someone else has saved since', async () => {
    const id = await addAnimal('Shared', { bondedWith: [await addAnimal('Friend')] })
    const look = async (page: Page) => {
      await typeDuringSave(page, { isLost: true })
      await page.getByRole('button', { name: 'Remove Friend' }).click()
      await api('PATCH', `/pets/${id}/profile`, { description: 'Shy.' })
      const { url, other } = { url: page.url(), other: await page.context().newPage() }
      await page.goto('about:blank')
      const { operatorKey } = test.service
      await other.addInitScript(`sessionStorage['petstore.key'] = ${JSON.stringify(operatorKey)}`)
      await other.goto(url)
      await restored(other)
      await part(other, 'Description').getByText('Shy.').waitFor()
      await conflict(other).waitFor()
      await eventually('the other field', async () => (await profileOf(id)).bondedWith.length === 0)
      assert.equal((await profileOf(id)).description, 'Shy.')
      await conflict(other).scrollIntoViewIfNeeded()
      await screenshot(other, 'animal-restored-phone')
      await other.getByRole('button', { name: 'Keep mine' }).click()
      await isSaved(id)
    }
    await open(id, look, phone)
  })

  browserTest('is saved when the person goes to another screen and then closes the page', async () => {
    const id = await addAnimal('Leaving')
    await open(id, async (page) => {
      await typeDuringSave(page, { isLost: true })
      await goTo(page, 'limits')
      await page.getByText('This day').waitFor()
      await page.goto('about:blank')
      await isSaved(id)
    })
  })

  browserTest('is saved when the person signs out, and nothing stays in the browser', async () => {
    const [first, id] = [await addAnimal('First'), await addAnimal('Second')]
    await open(first, async (page) => {
      await typeDuringSave(page)
      await page.goto(`${test.service.base}/console/animals/${id}`)
      await part(page, 'Description').waitFor()
      assert.match(await stored(page), /fond of children/)
      await typeDuringSave(page)
      await page.getByRole('button', { name: 'Sign out' }).click()
      await isSaved(id)
      assert.equal(await stored(page), '{}')
    })
  })
})
