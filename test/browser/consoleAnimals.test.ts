import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest, type PageVisit } from '../support/browser.ts'
import { assertSound, choose, goTo, hostile, nextFrame, screenshot } from '../support/console.ts'
import { addCategories, animalsOf, row } from '../support/consoleAnimals.ts'
import { eventually } from '../support/eventually.ts'
import { expectNone, expectTexts } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

const undoMs = 6_000

const test = useConsole({}, addCategories)
const { api, service } = test
const { addPet, statusOf, withAnimals } = animalsOf(test)
const focusIsOnTable = (page: Page) => page.locator('.table-scroll:focus').waitFor()

describe('animals', () => {
  browserTest('an animal is added with a new category, after the fields that are wrong are named', () =>
    withAnimals(async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: /^Add/ }).first().click()
      const dialog = page.getByRole('dialog', { name: 'Add an animal' })
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.getByText('Enter a name.').waitFor()
      await dialog.getByText('Choose a category.').waitFor()
      await dialog.getByLabel('Name', { exact: true }).fill('Biscuit')
      await dialog.getByLabel('Category', { exact: true }).selectOption({ label: 'New category…' })
      await dialog.getByLabel('Name of the new category').fill('Rabbits')
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByText('Biscuit added.').waitFor()
      await page.waitForURL(/\/console\/animals\/\d+$/)
      await goTo(page, 'animals')
      await row(page, 'Biscuit').getByText('Rabbits').filter({ visible: true }).waitFor()
    }),
  )

  browserTest('an animal is edited, and only allowed changes of its status are offered', async () => {
    const { id } = await addPet('Ollie', { status: 'sold' })
    await withAnimals(async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: 'Actions for Ollie' }).click()
      await expectTexts(page.getByRole('menuitem'), ['Edit', 'Mark as available', 'Remove'])
      await screenshot(page, 'animals-menu')
      await page.getByRole('menuitem', { name: 'Edit' }).click()
      const dialog = page.getByRole('dialog', { name: 'Edit Ollie' })
      await expectTexts(dialog.getByLabel('Status').locator('option'), ['Available', 'Sold'])
      await dialog.getByLabel('Name', { exact: true }).fill('Oliver')
      await dialog.getByLabel('Category', { exact: true }).selectOption({ label: 'Cats' })
      await dialog.getByLabel('Status').selectOption({ label: 'Available' })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await row(page, 'Oliver').getByText('Available').waitFor()
      // The row shows the change before it is saved.
      const saved = await eventually('the change is saved', async () => {
        const [pet] = await api('GET', `/pets?id=${id}`)
        return pet.name === 'Oliver' && pet
      })
      assert.deepEqual([saved.categoryId, saved.status], [2, 'available'])
    })
  })

  browserTest('a removal can be undone, and is sent when the time for that ends', async () => {
    await addPet('Stays')
    const { id } = await addPet('Rusty')
    await withAnimals(async ({ page }) => {
      await page.clock.install()
      const requests: string[] = []
      page.on('request', (request) => void (request.method() === 'DELETE' && requests.push(request.url())))
      await choose(page, 'Rusty', 'Remove')
      await row(page, 'Rusty').waitFor({ state: 'detached' })
      await focusIsOnTable(page)
      await screenshot(page, 'animals-undo')
      await page.getByRole('button', { name: 'Undo' }).click()
      await row(page, 'Rusty').waitFor()
      await focusIsOnTable(page)
      // The list with other filters is another one.
      await choose(page, 'Rusty', 'Remove')
      await row(page, 'Rusty').waitFor({ state: 'detached' })
      await page.getByLabel('Status', { exact: true }).selectOption('available')
      await page.waitForURL(/status=available/)
      await page.locator('.table-scroll').focus()
      await page.keyboard.press('Control+z')
      await row(page, 'Rusty').waitFor()
      assert.deepEqual(requests, [])
      assert.equal(await statusOf(id), 'available')
      await choose(page, 'Rusty', 'Remove')
      await row(page, 'Rusty').waitFor({ state: 'detached' })
      // The time stops while the pointer is on the message.
      await page.getByRole('button', { name: 'Undo' }).hover()
      await page.clock.fastForward(2 * undoMs)
      await nextFrame(page)
      await page.getByRole('button', { name: 'Undo' }).waitFor()
      await page.mouse.move(5, 5)
      await page.clock.fastForward(undoMs)
      await eventually('the removal', async () => (await statusOf(id)) === undefined)
      assert.equal(requests.length, 1)
    })
  })

  browserTest('a name with markup is text', async () => {
    await addPet(hostile)
    await withAnimals(async (opened) => {
      const { page } = opened
      const dialogs: string[] = []
      page.on('dialog', (dialog) => void dialogs.push(dialog.message()))
      await row(page, hostile).waitFor()
      await choose(page, hostile, 'Edit')
      await page.getByRole('dialog', { name: `Edit ${hostile}` }).waitFor()
      await page.keyboard.press('Escape')
      await choose(page, hostile, 'Remove')
      await page.getByText(`${hostile} removed.`).waitFor()
      await page.getByRole('button', { name: 'Undo' }).click()
      await expectNone(page.locator('img'), row(page, hostile))
      assert.deepEqual(dialogs, [])
      await assertSound(opened)
    })
  })
})

describe('live changes', () => {
  browserTest('without them, a change by others is not overwritten before it was seen', async () => {
    const { id } = await addPet('Clover')
    const { id: keyId, key } = await service.makeKey({
      plan: 'business',
      scopes: ['pets:read', 'pets:write'],
    })
    const edit = async ({ page }: PageVisit) => {
      const version = page.waitForResponse(`**/v1/listings/${id}?view=staff`)
      await choose(page, 'Clover', 'Edit')
      await (await version).finished()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name', { exact: true }).fill('Clover the second')
      await api('PATCH', `/pets/${id}`, { name: 'Clover the first' })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('it is now Clover the first').waitFor()
      await dialog.getByText('Nothing was saved.').waitFor()
      await screenshot(page, 'animals-conflict')
      const [before] = await api('GET', `/pets?id=${id}`)
      assert.equal(before.name, 'Clover the first')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await row(page, 'Clover the second').waitFor()
      const { minutes } = await api('GET', `/keys/${keyId}/usage`)
      assert.deepEqual(
        minutes.map(({ deprecated }: { deprecated: object }) => deprecated),
        minutes.map(() => ({})),
        'The console uses no deprecated operation.',
      )
    }
    await withAnimals(edit, { key })
  })

  browserTest('what one browser changes appears in another, without reloading', () =>
    withAnimals(async ({ page: first }) => {
      await withAnimals(async ({ page: second }) => {
        for (const page of [first, second]) await page.getByText('Live', { exact: true }).waitFor()
        const { id } = await addPet('Comet')
        await row(first, 'Comet').waitFor()
        await choose(second, 'Comet', 'Mark as sold')
        await row(first, 'Comet').getByText('Sold').waitFor()
        await choose(first, 'Comet', 'Mark as available')
        await row(second, 'Comet').getByText('Available').waitFor()
        await api('DELETE', `/pets/${id}`)
        for (const page of [first, second]) await row(page, 'Comet').waitFor({ state: 'detached' })
      })
    }),
  )
})
