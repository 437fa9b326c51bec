import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'node:test'
import type { Page, Route } from 'playwright-core'
import type { Int64, Limits, ProfileChange } from '../../client/src/index.ts'
import { adoptionPageFolder, useAdoptionPage } from '../support/adoptionPage.ts'
import { browserTest } from '../support/browser.ts'
import {
  assertAccessible,
  assertFits,
  desktop,
  hostile,
  phone,
  screenshot,
  waitUntil,
} from '../support/console.ts'
import { eventually, eventuallyHolds } from '../support/eventually.ts'
import {
  expectAttribute,
  expectCount,
  expectEnabled,
  expectNone,
  expectText,
  expectTexts,
} from '../support/expectPage.ts'
import { jpeg } from '../support/images.ts'
import { clientOf } from '../support/petstoreClient.ts'

const { service, site, newPage, open } = useAdoptionPage()

const shown = (page: Page) => page.locator('li h2')
const statusOf = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text })
const status = (page: Page, text: string) => statusOf(page, text).waitFor()

type Fields = { name: string; status?: 'available' | 'pending' | 'sold'; photos?: number }
/** An animal with its profile and photos. */
async function add({ photos = 0, ...pet }: Fields, profile?: ProfileChange): Promise<Int64> {
  const store = clientOf(service)
  const { id } = await store.pets.create({ ...pet, categoryId: 3 })
  if (profile) await store.pets.profile.update(id, profile)
  for (let index = 0; index < photos; index++) {
    const photo = await store.pets.photos.add(id, await jpeg(900, 600))
    if (index > 0) await store.pets.photos.update(id, photo.id, { alt: `Photo ${index}`, caption: hostile })
  }
  return id
}

const names = Array.from({ length: 30 }, (_, index) => `Pet ${index}`)
const everyone = ['Milo', 'Luna <b>', ...names.toReversed()]
let luna: Int64

describe('the adoption page', () => {
  browserTest('says that there are no animals', async (t) => {
    const { page, errors } = await open(t)
    await expectNone(shown(page), statusOf(page, 'No animal is looking for a home'))
    assert.deepEqual(errors, [])
  })

  browserTest('shows the animals on offer in pages, newest first', async (t) => {
    for (const name of names) await add({ name })
    luna = await add(
      { name: 'Luna <b>', photos: 3 },
      {
        species: 'dog',
        breeds: ['Labrador Retriever'],
        sex: 'female',
        ageGroup: 'young',
        size: 'large',
        colors: ['black'],
        goodWith: { children: 'yes', dogs: 'selective', cats: 'no' },
        minChildAge: 6,
        fee: { amount: 25_050, currency: 'EUR' },
        description: `${'A long story. '.repeat(40)}\n\n${hostile}`,
        specialNeedsNotes: 'Eye drops',
        contactUrl: 'https://shelter.example/luna',
        staffNotes: 'Secret',
      },
    )
    await add({ name: 'Milo', status: 'pending' }, { species: 'cat', goodWith: { children: 'yes' } })
    await add({ name: 'Sold', status: 'sold' })
    await add({ name: 'Hidden' }, { listed: false })

    const { page, errors } = await open(t, phone)
    await status(page, 'The 24 newest animals.')
    await expectTexts(shown(page), everyone.slice(0, 24))
    await expectTexts(page.locator('.badge'), ['Reserved'])
    const card = page.getByRole('listitem').filter({ hasText: 'Luna <b>' })
    await expectText(card.locator('p'), 'Labrador Retriever · Young · Female')
    // The first photo has no text of its own, and its file is one that fits.
    const image = `document.querySelector('li img')`
    const photo = card.getByRole('img', { name: 'Luna <b>' })
    await waitUntil(page, `${image}.naturalWidth > 0`)
    await waitUntil(page, `/\\/photos\\/[\\w-]{22}\\/(320|640)\\.webp$/.test(${image}.currentSrc)`)
    await expectAttribute(photo, 'srcset', / 320w, .* 640w, .* 900w$/)
    await expectAttribute(photo, 'style', /^background-color: rgb\(/)

    await page.getByRole('button', { name: 'Show more' }).press('Enter')
    await expectNone(page.getByRole('button'), statusOf(page, '32 animals.'))
    await expectTexts(shown(page), everyone)
    await expectText(page.locator(':focus'), String(everyone[24]))
    assert.deepEqual(errors, [])
  })

  browserTest('finds animals by filters and words, which are in the address', async (t) => {
    const { page, errors } = await open(t, desktop)
    await status(page, 'The 24 newest animals.')
    await page.getByLabel('Children').check()
    await status(page, '2 animals.')
    await expectTexts(shown(page), ['Milo', 'Luna <b>'])
    await page.getByLabel('Kind').selectOption('Dogs')
    await page.getByLabel('Age').selectOption('Young')
    await page.getByLabel('Sex').selectOption('Female')
    await page.getByLabel('Size').selectOption('Large')
    await page.getByRole('searchbox').pressSequentially('black lab')
    // First the address: the filters before already found one animal.
    await page.waitForURL((url) => url.searchParams.get('q') === 'black lab')
    await status(page, 'One animal.')
    await expectTexts(shown(page), ['Luna <b>'])

    await page.reload()
    await status(page, 'One animal.')
    await expectTexts(shown(page), ['Luna <b>'])
    await page.getByRole('checkbox', { name: 'Cats' }).check()
    await status(page, 'No animal matches.')
    await page.getByRole('button', { name: 'Show all' }).click()
    await expectNone(page.getByRole('button', { name: 'Show all' }), statusOf(page, 'The 24 newest animals.'))
    await page.waitForURL(`${site.origin}/`)

    assert.deepEqual(errors, [])
    await page.getByRole('searchbox').fill('one two three four five six seven eight nine')
    await status(page, 'Search for fewer words.')
  })

  browserTest('shows all about an animal in a dialog, as text', async (t) => {
    const { page, errors } = await open(t, phone)
    await status(page, 'The 24 newest animals.')
    await page.getByRole('link', { name: 'Luna <b>' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Luna <b>' })
    await dialog.locator('.description', { hasText: hostile }).waitFor()
    await expectCount(dialog.getByRole('img'), 3)
    await expectTexts(dialog.locator('figcaption'), [hostile, hostile])
    await eventuallyHolds(async () => {
      const facts = await dialog.locator('dl > div').allTextContents()
      for (const fact of ['Good withChildren from 6, some dogs', 'Not withCats', 'Fee€250.50', 'SizeLarge'])
        assert.ok(facts.includes(fact), `${facts}`)
    })
    await dialog.getByText('Special needs: Eye drops').waitFor()
    assert.ok(!(await page.content()).includes('Secret'))
    const contact = dialog.getByRole('link', { name: 'Ask about Luna <b>' })
    await expectAttribute(contact, 'href', 'https://shelter.example/luna')
    await assertFits(page)

    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await page.waitForURL(`${site.origin}/`)
    await expectText(page.locator(':focus'), 'Luna <b>')
    await page.getByRole('listitem').filter({ hasText: 'Luna <b>' }).click()
    await dialog.waitFor()
    await page.goBack()
    await dialog.waitFor({ state: 'hidden' })
    assert.deepEqual(errors, [])
  })

  browserTest('opens the animal of a shared link, or says that it is gone', async (t) => {
    const { page } = await open(t, desktop, `/?species=cat#pet-${luna}`)
    await page.getByRole('dialog', { name: 'Luna <b>' }).waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await status(page, 'One animal.')
    await page.waitForURL(`${site.origin}/?species=cat`)
    for (const id of ['99999', '9'.repeat(30)]) {
      await page.evaluate(`location.hash = 'pet-${id}'`)
      await page.getByRole('dialog', { name: /no longer here|cannot be shown/ }).waitFor()
      await page.keyboard.press('Escape')
      await page.waitForURL(`${site.origin}/?species=cat`)
    }
  })

  for (const [name, options] of Object.entries({
    'on a phone': { ...phone, colorScheme: 'light' },
    'in dark colours': { ...desktop, colorScheme: 'dark' },
  })) {
    browserTest(`is accessible ${name}`, async (t) => {
      const { page } = await open(t, options)
      await status(page, 'The 24 newest animals.')
      await assertAccessible(page)
      await assertFits(page)
      await screenshot(page, `adoption page ${name}`)
      await page.getByRole('link', { name: 'Luna <b>' }).click()
      await page.locator('.description', { hasText: hostile }).waitFor()
      await assertAccessible(page)
      await screenshot(page, `adoption page, an animal ${name}`)
    })
  }

  browserTest('makes one request a visit, so its key allows as many visits as the README says', async (t) => {
    const readme = readFileSync(join(adoptionPageFolder, 'README.md'), 'utf8')
    const pageKey = site.apiKey
    t.after(() => {
      site.apiKey = pageKey
    })
    for (const plan of ['free', 'pro', 'business']) {
      site.apiKey = (await service.makeKey({ origins: [site.origin], plan })).key
      const { page } = await open(t)
      await status(page, 'The 24 newest animals.')
      const headers = { origin: site.origin }
      const { json } = await service.request('GET', '/v1/limits', { key: site.apiKey, headers })
      const { minute, day } = json as Limits
      assert.deepEqual([minute.limit - minute.remaining, day.limit - day.remaining], [1, 1])
      const [perMinute, perDay] = [minute, day].map(({ limit }) => limit.toLocaleString('en'))
      assert.ok(readme.includes(`| \`${plan}\` | ${perMinute} | ${perDay} |`), plan)
      if (plan !== 'free') continue
      assert.ok(readme.includes(`${perMinute} visits a minute and ${perDay} visits a day`))
      const code = readFileSync(join(adoptionPageFolder, 'store.js'), 'utf8')
      assert.ok(code.includes(`${perMinute} visits a minute and ${perDay} a day`))
    }
  })

  browserTest('says that the animals cannot be shown, and tries again', async (t) => {
    const { page } = await newPage(t)
    let isBroken = true
    const error = { status: 404, json: { code: 'not_found', message: '', status: 404 } }
    await page.route('**/v1/listings*', (route) => (isBroken ? route.fulfill(error) : route.continue()))
    await page.goto(site.origin)
    await status(page, 'The animals cannot be shown')
    isBroken = false
    await page.getByRole('button', { name: 'Try again' }).click()
    await status(page, 'The 24 newest animals.')

    // Another filter is another way to try again.
    isBroken = true
    await page.getByLabel('Kind').selectOption('Cats')
    await status(page, 'The animals cannot be shown')
    isBroken = false
    await page.getByLabel('Kind').selectOption('All')
    await status(page, 'The 24 newest animals.')
    await expectTexts(page.getByRole('button'), ['Show more'])
  })

  browserTest('a load that a new filter ends does not enable the button of the next one', async (t) => {
    const { page } = await open(t)
    await status(page, 'The 24 newest animals.')
    const held: Route[] = []
    await page.route('**/v1/listings*', (route) => void held.push(route))
    const ended = page.waitForEvent('requestfailed')
    await page.getByLabel('Kind').selectOption('Cats')
    await eventually('the first load', () => held.length === 1)
    await page.getByLabel('Kind').selectOption('All')
    await ended
    await eventually('the second load', () => held.length === 2)
    await status(page, 'Loading the animals…')
    await expectEnabled(page.getByRole('button', { name: 'Show more' }), false)
    await held[1]?.continue()
    await status(page, 'The 24 newest animals.')
    await expectEnabled(page.getByRole('button', { name: 'Show more' }), true)
  })
})
