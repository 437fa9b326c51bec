import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { browserTest, type PageVisit } from '../support/browser.ts'
import { assertSound, choose, desktop, goTo, phone, screenshot } from '../support/console.ts'
import { animalPageOf, part } from '../support/consoleAnimalPage.ts'
import { addCategories, animalsOf, row } from '../support/consoleAnimals.ts'
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

describe('the form of an order whose animal is reserved by someone else', () => {
  const dialogOf = (page: Page) => page.getByRole('dialog')
  const taken = (page: Page) => dialogOf(page).getByText('A colleague was faster: ')
  const values = [
    ['Adopter', 'Ada Example'],
    ['E-mail', 'ada@example.com'],
    ['Note', 'Phone 555 0100, calls back at noon.'],
  ] as const
  async function fillIn(page: Page) {
    for (const [label, value] of values) await dialogOf(page).getByLabel(label).fill(value)
  }
  async function expectFilledIn(page: Page) {
    for (const [label, value] of values) await expectValue(dialogOf(page).getByLabel(label), value)
  }
  const place = (page: Page) => dialogOf(page).getByRole('button', { name: 'Place order' }).click()
  const chooseAnother = (page: Page) =>
    dialogOf(page).getByRole('button', { name: 'Choose another animal' }).click()
  async function assertOrdered(petId: number) {
    const [order] = await eventually('the order', async () => {
      const orders = await api('GET', `/store/orders?petId=${petId}`)
      return orders.length > 0 && orders
    })
    const { customer, note } = order
    assert.deepEqual(
      [customer.name, customer.email, note],
      values.map(([, value]) => value),
    )
  }

  browserTest('keeps what was entered while the event arrives, and for the next animal', async () => {
    const [{ id }, other] = [await addPet('Willow'), await addPet('Hazel')]
    await withAnimals(async (opened) => {
      const { page } = opened
      await page.getByText('Live', { exact: true }).waitFor()
      await choose(page, 'Willow', 'Place order')
      await fillIn(page)
      const order = await api('POST', '/store/orders', { petId: id })
      await taken(page).waitFor()
      await expectFilledIn(page)
      await screenshot(page, 'order-taken-desktop')
      for (const width of [390, 320]) {
        await page.setViewportSize({ width, height: 700 })
        await assertSound(opened)
        const cancel = dialogOf(page).getByRole('button', { name: 'Cancel' })
        await eventually('the button fits', async () => Number((await cancel.boundingBox())?.x) > 0)
        await screenshot(page, `order-taken-${width}`)
      }
      await page.setViewportSize(desktop.viewport)
      // The colleague cancels, and takes the animal again.
      await api('PATCH', `/store/orders/${order.id}`, { status: 'cancelled' })
      await taken(page).waitFor({ state: 'detached' })
      await api('POST', '/store/orders', { petId: id })
      await taken(page).waitFor()
      await chooseAnother(page)
      await choose(page, 'Hazel', 'Place order')
      await dialogOf(page).getByText('Filled in with what you entered for Willow.').waitFor()
      await expectFilledIn(page)
      await screenshot(page, 'order-filled-in')
      await place(page)
      await assertOrdered(other.id)
    })
  })

  browserTest('keeps it after the response, also on the page of the animal', async () => {
    const [{ id }, other] = [await addPet('Rowan'), await addPet('Alder')]
    const scopes = ['pets:read', 'categories:read', 'orders:read', 'orders:write']
    const { key } = await test.service.makeKey({ name: 'No events', plan: 'business', scopes })
    const order = async ({ page }: PageVisit) => {
      await page.getByRole('button', { name: 'Place order' }).click()
      await fillIn(page)
      await api('POST', '/store/orders', { petId: id })
      await place(page)
      await taken(page).waitFor()
      await expectFilledIn(page)
      await chooseAnother(page)
      await page.waitForURL(/animals\?status=available$/)
      await row(page, 'Alder').getByRole('button', { name: 'Place order' }).click()
      await expectFilledIn(page)
      await place(page)
      await assertOrdered(other.id)
    }
    await test.visit(`animals/${id}`, order, { key })
  })

  browserTest('stays when the page of the animal can no longer be shown', async () => {
    const { id } = await addPet('Aspen')
    const scopes = ['pets:read', 'orders:read', 'orders:write', 'events:read']
    const { key } = await test.service.makeKey({ name: 'Orders', plan: 'business', scopes })
    const order = async ({ page }: PageVisit) => {
      await page.getByText('Live', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Place order' }).click()
      await fillIn(page)
      await api('PATCH', `/pets/${id}/profile`, { listed: false })
      await page.getByText('or it is no longer listed').waitFor()
      await expectFilledIn(page)
      await api('DELETE', `/pets/${id}`)
      await dialogOf(page).getByText('A colleague has just removed Aspen.').waitFor()
      await expectFilledIn(page)
    }
    await test.visit(`animals/${id}`, order, { key })
  })

  browserTest('does not take an order whose response was lost for that of someone else', async () => {
    const { id } = await addPet('Linden')
    await withAnimals(async ({ page }) => {
      await page.getByText('Live', { exact: true }).waitFor()
      await choose(page, 'Linden', 'Place order')
      await fillIn(page)
      const lose = async (route: Route) => {
        await route.fetch()
        await route.abort()
      }
      await page.route('**/v1/store/orders', lose, { times: 1 })
      await place(page)
      await row(page, 'Linden').getByText('Pending').waitFor()
      await dialogOf(page).getByText('The service cannot be reached.').waitFor()
      await place(page)
      await page.getByText(/Order \d+ placed for Linden\./).waitFor()
      await assertOrdered(id)
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
