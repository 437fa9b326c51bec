import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest } from '../support/browser.ts'
import { assertFits, assertSound, goTo, phone, waitUntil } from '../support/console.ts'
import { addCategories, animalsOf, row } from '../support/consoleAnimals.ts'
import { addPhoto } from '../support/consoleData.ts'
import { eventually } from '../support/eventually.ts'
import { expectAttribute } from '../support/expectPage.ts'
import { jpeg } from '../support/images.ts'
import { useConsole } from '../support/useConsole.ts'

const test = useConsole({}, addCategories)
const { api, service, visit } = test
const { addPet, addProfile, indexed, statusOf, withAnimals } = animalsOf(test)

const card = (page: Page, name: string) => page.getByRole('article').filter({ hasText: name })

describe('the gallery', () => {
  browserTest('shows photos, what is known, and initials, in two columns on a phone', async () => {
    const { id } = await addProfile('Maple', { species: 'dog', breeds: ['beagle'], ageGroup: 'young' })
    await addPhoto(service, id, await jpeg(600, 900))
    await addPet('Otto Long')
    await addProfile('Uma', { listed: false })
    await visit(
      'animals?view=gallery',
      async (opened) => {
        const { page } = opened
        await card(page, 'Maple').getByText('Dog · Beagle · Young').waitFor()
        await card(page, 'Otto').getByText('OL', { exact: true }).waitFor()
        const image = card(page, 'Maple').locator('img')
        await eventually('the photo', () =>
          image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth > 0),
        )
        await expectAttribute(image, 'srcset', /320\.webp 320w, .*640\.webp 640w/)
        await expectAttribute(card(page, 'Maple').getByRole('link'), 'href', `/console/animals/${id}`)
        for (const width of [320, 390]) {
          await page.setViewportSize({ width, height: 700 })
          await assertFits(page)
          await expectAttribute(page.locator('.grid'), 'style', /grid-template-columns: repeat\(2/)
          // The status is beside the menu.
          await waitUntil(
            page,
            `[...document.querySelectorAll('.animal-state')].every((each) => each.scrollWidth <= each.clientWidth)`,
          )
        }
        await assertSound(opened)
        await page.getByRole('button', { name: 'Table' }).click()
        await row(page, 'Maple').locator('img').waitFor()
        await page.waitForURL(/\/console\/animals$/)
        await assertFits(page)
        await goTo(page, 'animals?view=gallery')
        await card(page, 'Maple').waitFor()
      },
      phone,
    )
  })

  browserTest('follows the changes of profiles and photos by others', async () => {
    const { id } = await addPet('Pixel')
    await visit('animals?view=gallery', async ({ page }) => {
      await page.getByText('Live', { exact: true }).waitFor()
      await card(page, 'Pixel').waitFor()
      const birth = { birthDate: '2020-01-01', birthDateEstimated: true }
      await api('PATCH', `/pets/${id}/profile`, { species: 'ferret', listed: false, ...birth })
      await card(page, 'Pixel')
        .getByText(/Ferret · About \d+\syears/)
        .waitFor()
      await card(page, 'Pixel').getByText('Not listed').waitFor()
      await addPhoto(service, id, await jpeg(64, 64))
      await card(page, 'Pixel').locator('img').waitFor()
    })
  })
})

describe('several animals', () => {
  browserTest('are changed together by keyboard, and those that were not are named', async () => {
    const names = ['Ivy', 'Iris', 'Ida']
    const pets = []
    for (const name of names) pets.push(await addPet(name, { categoryId: 2 }))
    const [ivy, , ida] = pets
    await indexed('categoryId=2&q=Ida')
    await visit('animals?category=2', async ({ page }) => {
      for (const name of names) await page.getByLabel(`Select ${name}`, { exact: true }).press('Space')
      await page.getByText('3 selected').waitFor()
      await api('POST', '/store/orders', { petId: ivy.id })
      await page.getByRole('button', { name: 'Change…' }).press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Change 3 animals' })
      await dialog.getByLabel('New value').selectOption('sold')
      await dialog.getByRole('button', { name: 'Change', exact: true }).press('Enter')
      await page.getByText('1 animal not changed').waitFor()
      await page.getByText('Ivy has an open order.').waitFor()
      assert.equal(await statusOf(ida.id), 'sold')
      await page.keyboard.press('Escape')
      await page.getByText('1 selected').waitFor()
      await page.getByLabel('Select all loaded animals').check()
      await page.getByRole('button', { name: 'Change…' }).click()
      const all = page.getByRole('dialog')
      await all.getByLabel('What to change').selectOption('location')
      await all.getByLabel('New location').fill('Kennel 4')
      await all.getByRole('button', { name: 'Change', exact: true }).click()
      await all.waitFor({ state: 'detached' })
      const profile = await api('GET', `/pets/${ida.id}/profile?view=staff`)
      assert.equal(profile.location, 'Kennel 4')
      await page.getByLabel('Selection').waitFor({ state: 'hidden' })
    })
  })

  browserTest('are not changed over a change by others', async () => {
    const { id } = await addPet('Quill')
    const { key } = await service.makeKey({ scopes: ['pets:read', 'pets:write', 'categories:read'] })
    await withAnimals(
      async ({ page }) => {
        await page.getByLabel('Select Quill').check()
        await api('PATCH', `/pets/${id}`, { name: 'Quilla' })
        await page.getByRole('button', { name: 'Change…' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByLabel('New value').selectOption('pending')
        await dialog.getByRole('button', { name: 'Change', exact: true }).click()
        await dialog.getByText('Someone else has just changed this animal.').waitFor()
        assert.equal(await statusOf(id), 'available')
        await dialog.getByRole('button', { name: 'Try again' }).click()
        await row(page, 'Quilla').getByText('Pending').waitFor()
      },
      { key },
    )
  })
})
