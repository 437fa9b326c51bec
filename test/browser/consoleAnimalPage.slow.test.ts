import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe } from 'node:test'
import sharp from 'sharp'
import { browserTest, type PageVisit } from '../support/browser.ts'
import { assertFits, assertSoundInBoth, hostile, phone, screenshot, waitUntil } from '../support/console.ts'
import { animalPageOf, chooseFiles, dropFiles, expectPhotos, part } from '../support/consoleAnimalPage.ts'
import { addCategories } from '../support/consoleAnimals.ts'
import { eventually } from '../support/eventually.ts'
import { expectNone, expectTexts, expectValue } from '../support/expectPage.ts'
import { jpeg } from '../support/images.ts'
import { useConsole } from '../support/useConsole.ts'

const test = useConsole({}, addCategories)
const { api, service } = test
const { addPet, addPhoto, photosOf, profileOf, withPage } = animalPageOf(test)

/** A busy machine takes long to send a large file to the browser, and to reduce it. */
const largeFileMaxMs = 120_000

/** A picture that cannot be compressed. */
const noise = (width: number, height: number) =>
  sharp(randomBytes(width * height * 3), { raw: { width, height, channels: 3 } })

describe('the page of an animal', () => {
  browserTest('reduces a file that is too large, and rejects one that the browser cannot read', async () => {
    const id = await addPet('Large')
    const large = await noise(2_400, 2_000).png({ compressionLevel: 0 }).toBuffer()
    assert.ok(large.length > 10 * 1024 * 1024)
    await withPage(id, async ({ page }) => {
      page.setDefaultTimeout(largeFileMaxMs)
      await chooseFiles(page, [
        { name: 'large.png', mimeType: 'image/png', buffer: large },
        { name: 'broken.jpg', mimeType: 'image/jpeg', buffer: Buffer.alloc(large.length) },
      ])
      await part(page, 'Photos').getByText('1 of 20').waitFor()
      await page.getByText('this browser cannot reduce it').waitFor()
      assert.equal((await photosOf(id)).length, 1)
    })
  })

  browserTest('adds files in their order, chosen or dropped, one after the other', async () => {
    const id = await addPet('Ordered')
    const file = async (width: number) => ({
      ...{ name: `${width}.jpg`, mimeType: 'image/jpeg', buffer: await jpeg(width, 10) },
    })
    const widths = async () => (await photosOf(id)).map(({ width }: { width: number }) => width)
    await withPage(id, async ({ page }) => {
      const states = page.getByRole('list', { name: 'Uploads' }).getByRole('status')
      const first = Promise.withResolvers<void>()
      await page.route('**/photos', async (route) => {
        await first.promise
        await route.continue()
      })
      await chooseFiles(page, await Promise.all([70, 60, 50].map(file)))
      await expectTexts(states, ['Uploading', 'Waiting', 'Waiting'])
      await dropFiles(part(page, 'History'), await Promise.all([40, 30].map(file)))
      await states.nth(4).waitFor()
      first.resolve()
      await page.getByText('5 of 20').waitFor()
      assert.deepEqual(await widths(), [70, 60, 50, 40, 30])
    })
  })

  browserTest('adds a photo although the service is busy at first', async () => {
    const id = await addPet('Busy')
    let uploads = 0
    await withPage(id, async ({ page }) => {
      const json = { code: 'unavailable', message: 'Too many photos are being processed.', status: 503 }
      await page.route('**/photos', (route) =>
        route.request().method() === 'POST' && ++uploads <= 7
          ? route.fulfill({ status: 503, headers: { 'Retry-After': '0' }, json })
          : route.continue(),
      )
      await chooseFiles(page, [{ name: 'busy.jpg', mimeType: 'image/jpeg', buffer: await jpeg() }])
      await page.getByText('1 of 20').waitFor({ timeout: 60_000 })
      assert.equal(uploads, 8)
      assert.equal((await photosOf(id)).length, 1)
    })
  })

  browserTest('names what is wrong with a field, and saves the others', async () => {
    const id = await addPet('Rex')
    await withPage(id, async ({ page }) => {
      const adoption = part(page, 'Adoption')
      await adoption.getByLabel('Contact page').fill('shelter.example')
      await adoption.getByLabel('Fee', { exact: true }).fill('150.5')
      await adoption.getByText('Choose a currency.').waitFor()
      await adoption.getByLabel('Currency of the fee').selectOption({ label: 'EUR Euro' })
      await adoption.getByText('Must be an https address.').waitFor()
      await eventually('the fee', async () => (await profileOf(id)).fee?.amount === 15_050)
      await adoption.getByLabel('Contact page').fill('https://shelter.example/rex')
      await adoption.getByText('Saved').waitFor()
      assert.equal((await profileOf(id)).contactUrl, 'https://shelter.example/rex')
      await adoption.getByLabel('Show in listings').uncheck()
      await part(page, 'How others see it').getByText('Not listed.').waitFor()
    })
  })

  browserTest('shows what was not saved when someone else removes the animal', async () => {
    const id = await addPet('Gone', { description: 'Calm.' })
    await withPage(id, async ({ page }) => {
      const removed = Promise.withResolvers<void>()
      await page.route(/\/(profile|photos)$/, async (route) => {
        await removed.promise
        await route.continue()
      })
      await page.getByText('Live', { exact: true }).waitFor()
      await chooseFiles(page, [{ name: 'late.jpg', mimeType: 'image/jpeg', buffer: await jpeg() }])
      await page.getByRole('textbox', { name: 'Description' }).fill(`Typed too late. ${hostile}`)
      await api('DELETE', `/pets/${id}`)
      await page.getByRole('alert').filter({ hasText: 'Someone else has removed this animal.' }).waitFor()
      removed.resolve()
      await part(page, 'Not saved').getByText(`Typed too late. ${hostile}`).waitFor()
      const notice = page.getByText('late.jpg was not added. Someone else has removed this animal.')
      await expectNone(page.getByRole('textbox'), notice)
      await expectNone(page.getByRole('button', { name: 'Edit name and status' }), notice)
      await screenshot(page, 'animal-removed')
    })
  })

  browserTest('does not add a photo twice if its response was lost', async () => {
    const id = await addPet('Twice')
    await withPage(id, async ({ page }) => {
      await page.route('**/photos', async (route) => {
        await route.fetch()
        await route.abort()
      })
      await chooseFiles(page, [{ name: 'one.jpg', mimeType: 'image/jpeg', buffer: await jpeg() }])
      await page.getByText('The service cannot be reached.').waitFor()
      await page.unroute('**/photos')
      await page.getByRole('button', { name: 'Retry' }).click()
      await page.getByText('Added', { exact: true }).waitFor()
      assert.equal((await photosOf(id)).length, 1)
    })
  })

  browserTest('orders photos by dragging', async () => {
    const id = await addPet('Dragged', { description: 'Calm.' })
    for (const alt of ['first', 'second', 'third']) await addPhoto(id, alt)
    await withPage(id, async ({ page }) => {
      const tile = (alt: string) => page.getByRole('listitem').filter({ hasText: alt })
      // Nothing is added to a field by dropping a photo on it.
      const description = page.getByRole('textbox', { name: 'Description' })
      await tile('first').dragTo(description)
      await expectValue(description, 'Calm.')
      await tile('first').dragTo(tile('third'))
      await eventually('the order', async () => (await photosOf(id))[2]?.alt === 'first')
      await expectPhotos(page, ['second', 'third', 'first'])
      // Chromium can leave out content of an element that was moved.
      for (const shownLast of [tile('first').getByText('first'), tile('first').locator('img')])
        await shownLast.waitFor()
    })
  })

  browserTest('notices a conflict without live updates, and keeps the other value', async () => {
    const scopes = ['pets:read', 'pets:write']
    const { key } = await service.makeKey({ name: 'No events', plan: 'business', scopes })
    const id = await addPet('Quiet', { description: 'Calm.', staffNotes: 'Old.' })
    const edit = async ({ page }: PageVisit) => {
      await api('PATCH', `/pets/${id}/profile`, { description: 'Very calm.' })
      // Another field is saved, although the profile has changed.
      await page.getByLabel('Notes').fill('New.')
      await part(page, 'For staff').getByText('Saved').waitFor()
      await api('PATCH', `/pets/${id}/profile`, { description: 'Not calm.' })
      await page.getByRole('textbox', { name: 'Description' }).fill('Calm and kind.')
      await page.getByRole('button', { name: 'Use theirs' }).click()
      await expectValue(page.getByRole('textbox', { name: 'Description' }), 'Not calm.')
      const { description, staffNotes } = await profileOf(id)
      assert.deepEqual([description, staffNotes], ['Not calm.', 'New.'])
    }
    await withPage(id, edit, { key })
  })

  browserTest('saves what is typed when another screen is shown', async () => {
    const id = await addPet('Leaving')
    await withPage(id, async ({ page }) => {
      await page.getByRole('textbox', { name: 'Description' }).fill('Typed at the end.')
      await page.getByRole('link', { name: 'Orders' }).click()
      await eventually('the change', async () => (await profileOf(id)).description === 'Typed at the end.')
    })
  })

  browserTest('is edited with all its controls, and fits on a narrow phone', async () => {
    const word = 'W'.repeat(90)
    const other = await addPet(`Companion ${word}`)
    const id = await addPet('Complete', {
      description: 'Calm. '.repeat(200),
      attributes: { [word.slice(0, 40)]: word },
    })
    const { id: categoryId } = await api('POST', '/categories', { name: word })
    await api('PATCH', `/pets/${id}`, { categoryId })
    await addPhoto(id, 'A photo with a long text that needs more than one line on a phone')
    const edit = async (opened: PageVisit) => {
      const { page } = opened
      await part(page, 'Basics').getByLabel('Breeds').fill('Labrador, Poodle')
      await page.getByLabel('Birth date', { exact: true }).fill('2020-01-31')
      await page.getByRole('group', { name: 'Dogs' }).getByRole('button', { name: 'Selective' }).click()
      await page.getByLabel('Adopted together with').fill('Companion')
      await page.getByRole('button', { name: `Companion ${word}` }).waitFor()
      await assertFits(page)
      await page.getByRole('button', { name: 'Companion' }).click()
      await page.getByRole('button', { name: 'Add detail' }).click()
      await page.getByLabel('Name of detail 2').fill('Toy')
      await page.getByLabel('Text of detail 2').fill('Duck')
      await eventually('the profile', async () => (await profileOf(id)).attributes.Toy === 'Duck')
      const { breeds, birthDate, goodWith, bondedWith } = await profileOf(id)
      assert.deepEqual(breeds, ['Labrador', 'Poodle'])
      assert.deepEqual([birthDate, goodWith.dogs, bondedWith], ['2020-01-31', 'selective', [other]])
      await assertSoundInBoth(opened, 'animal-narrow')
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 844 })
        await assertFits(page)
        // A long name leaves space for its value.
        await waitUntil(
          page,
          `[...document.querySelectorAll('.facts dd')].every(({ clientWidth }) => clientWidth > 100)`,
        )
      }
    }
    await withPage(id, edit, { ...phone, viewport: { width: 320, height: 640 } })
  })
})
