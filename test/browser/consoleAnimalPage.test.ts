import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest, type PageVisit } from '../support/browser.ts'
import { assertSound, hostile, phone, screenshot, waitUntil } from '../support/console.ts'
import { animalPageOf, chooseFiles, expectPhotos, part } from '../support/consoleAnimalPage.ts'
import { addCategories } from '../support/consoleAnimals.ts'
import { eventually } from '../support/eventually.ts'
import { expectNone, expectValue } from '../support/expectPage.ts'
import { jpeg, png, webp } from '../support/images.ts'
import { useConsole } from '../support/useConsole.ts'

const test = useConsole({}, addCategories)
const { api, service } = test
const { addPet, addPhoto, photosOf, profileOf, withPage } = animalPageOf(test)

describe('the page of an animal', () => {
  browserTest('adds three photos and a description on a phone', async () => {
    const id = await addPet('Luna')
    await withPage(
      id,
      async (opened) => {
        const { page } = opened
        const photos = part(page, 'Photos')
        await chooseFiles(page, [
          { name: 'one.jpg', mimeType: 'image/jpeg', buffer: await jpeg() },
          { name: 'two.png', mimeType: 'image/png', buffer: await png() },
          { name: 'three.webp', mimeType: 'image/webp', buffer: await webp() },
          { name: `${hostile}.jpg`, mimeType: 'image/jpeg', buffer: Buffer.from('no image') },
        ])
        await photos.getByText('The body is not a JPEG, PNG or WebP image.').waitFor()
        await photos.getByText('3 of 20').waitFor()
        await photos.getByText(hostile).waitFor()
        await photos.getByRole('button', { name: 'Retry' }).click()
        await photos.getByText('The body is not a JPEG, PNG or WebP image.').waitFor()
        await page
          .getByRole('textbox', { name: 'Description' })
          .fill(`She ${hostile} loves balls.\nAnd walks.`)
        await part(page, 'Description').getByText('Saved').waitFor()
        assert.equal((await profileOf(id)).description, `She ${hostile} loves balls.\nAnd walks.`)
        assert.equal((await photosOf(id)).length, 3)
        await part(page, 'How others see it').getByText('loves balls').waitFor()
        await assertSound(opened)
        await photos.scrollIntoViewIfNeeded()
        await screenshot(page, 'animal-phone-added')
        await page.getByRole('link', { name: 'History' }).click()
        await waitUntil(page, `document.activeElement.id === 'history'`)
      },
      phone,
    )
  })

  browserTest('shows both values if someone else has changed the same field', async () => {
    const id = await addPet('Milo', { description: 'Calm.', location: 'Kennel 1' })
    await withPage(id, async ({ page }) => {
      const description = page.getByRole('textbox', { name: 'Description' })
      // The event of the other change arrives while this one is typed.
      await description.fill('Calm and kind.')
      await api('PATCH', `/pets/${id}/profile`, { description: 'Very calm.', location: 'Kennel 2' })
      const notice = part(page, 'Description').getByText('Someone else has changed this.')
      await notice.waitFor()
      await part(page, 'Description').getByText('Very calm.').waitFor()
      await expectValue(description, 'Calm and kind.')
      await expectValue(page.getByLabel('Location'), 'Kennel 2')
      await notice.scrollIntoViewIfNeeded()
      await screenshot(page, 'animal-conflict')
      await page.getByRole('button', { name: 'Keep mine' }).click()
      await notice.waitFor({ state: 'detached' })
      await eventually('the description', async () => (await profileOf(id)).description === 'Calm and kind.')
      // A change of another field is no conflict.
      await page.getByLabel('Species').fill('Dog')
      await api('PATCH', `/pets/${id}/profile`, { location: 'Kennel 3' })
      await part(page, 'Basics').getByText('Saved').waitFor()
      assert.equal((await profileOf(id)).species, 'dog')
    })
  })

  browserTest('orders photos with the keyboard, and takes a removal back', async () => {
    const id = await addPet('Nala')
    for (const alt of ['first', 'second', 'third']) await addPhoto(id, alt)
    await withPage(id, async ({ page }) => {
      await page.getByRole('button', { name: 'Photo 3: third' }).focus()
      await page.keyboard.press('ArrowLeft')
      await page.keyboard.press('ArrowLeft')
      await page.getByText('The photo is now number 1 of 3.').waitFor()
      await expectPhotos(page, ['third', 'first', 'second'])
      await page.locator('[aria-label="Photo 1: third"]:focus').waitFor()
      await eventually('the order', async () => (await photosOf(id))[0]?.alt === 'third')
      await page.getByRole('button', { name: 'Actions for photo 2' }).click()
      await page.getByRole('menuitem', { name: 'Remove' }).click()
      await page.getByText('2 of 20').waitFor()
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByText('3 of 20').waitFor()
      await page.getByRole('button', { name: 'Photo 2: first' }).click()
      const dialog = page.getByRole('dialog', { name: 'Describe the photo' })
      await dialog.getByLabel('Alternative text').fill(hostile)
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('button', { name: `Photo 2: ${hostile}` }).waitFor()
    })
  })

  browserTest('says who did what, and shows its orders', async () => {
    const scopes = [
      'pets:read',
      'pets:write',
      'orders:read',
      'orders:write',
      'events:read',
      'categories:read',
    ]
    const { key } = await service.makeKey({ name: 'Front desk', plan: 'business', scopes })
    const id = await addPet('Oskar')
    await addPhoto(id, 'asleep')
    await withPage(
      id,
      async ({ page }) => {
        const history = part(page, 'History')
        await history.getByText('added this animal').waitFor()
        await history.getByText('added a photo').waitFor()
        await page.getByRole('button', { name: 'Actions for Oskar' }).click()
        await page.getByRole('menuitem', { name: 'Mark as pending' }).click()
        await history
          .getByRole('listitem')
          .filter({ hasText: /^Front desk marked it as pending/ })
          .waitFor()
        await page.getByRole('button', { name: 'Actions for Oskar' }).click()
        await page.getByRole('menuitem', { name: 'Mark as available' }).click()
        await page.getByRole('button', { name: 'Place order' }).click()
        await page.getByLabel('Adopter').fill('Ada Example')
        await page.getByRole('dialog').getByRole('button', { name: 'Place order' }).click()
        await part(page, 'Orders').getByText('Ada Example').waitFor()
        await history.getByText(/placed order \d/).waitFor()
      },
      { key },
    )
  })

  browserTest('shows a key that cannot change animals what is listed', async () => {
    const id = await addPet('Daisy', { description: 'Likes cats.', staffNotes: 'Secret.' })
    const { key } = await service.makeKey({ name: 'Reader', scopes: ['pets:read'] })
    const look = async (opened: PageVisit) => {
      const { page } = opened
      const shown = page.getByText('Likes cats.')
      await expectNone(page.getByRole('textbox'), shown)
      await expectNone(page.getByText('Secret.'), shown)
      await assertSound(opened)
    }
    await test.visit(`animals/${id}`, look, { key })
  })
})
