import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { useOtherSite } from '../support/adoptionSite.ts'
import { browserTest } from '../support/browser.ts'
import { assertAccessible, assertFits, hostile, phone, screenshot, waitUntil } from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { expectAttribute, expectCount, expectNone, expectText, expectTexts } from '../support/expectPage.ts'
import { jpeg } from '../support/images.ts'
import { useConsole } from '../support/useConsole.ts'

const site = useOtherSite()
const test = useConsole({}, async ({ api, service }) => {
  await api('PATCH', '/store/profile', { name: 'Second Chance Shelter', adoptionPage: true })
  for (let index = 0; index < 15; index++) {
    const name = index === 14 ? hostile : `Pet ${index}`
    const { id } = await api('POST', '/pets', {
      name,
      categoryId: 1,
      status: index === 13 ? 'pending' : 'available',
    })
    await api('PATCH', `/pets/${id}/profile`, {
      species: index % 3 === 0 ? 'cat' : 'dog',
      sex: 'female',
      breeds: [hostile],
    })
    if (index % 2 === 1) continue
    const upload = {
      key: service.operatorKey,
      body: await jpeg(640, 480),
      headers: { 'content-type': 'image/jpeg' },
    }
    assert.equal((await service.request('POST', `/v1/pets/${id}/photos`, upload)).status, 201)
  }
  await eventually('the index', async () => {
    const { json } = await service.request('GET', '/adopt/animals.json?species=cat')
    return json?.animals?.length === 5
  })
})

const shadow = `document.querySelector('adoptable-animals').shadowRoot`
const cards = (page: Page) => page.locator('adoptable-animals li')

/** A page of the other site with the element. */
async function open(attributes: string, run: (page: Page) => Promise<void>, options = {}, css = '') {
  const { base } = test.service
  site.html = `<!doctype html><html lang="en"><head><title>Our site</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>h3, a { color: red; font-size: 40px } ${css}</style>
<script src="${base}/adopt/embed.js" async></script></head>
<body><main><h1>Our site</h1><h2>Our animals</h2><adoptable-animals ${attributes}><a href="${base}/adopt">Our animals</a></adoptable-animals></main></body></html>`
  const context = await test.browser.newContext(options)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('dialog', (dialog) => problems.push(dialog.message()))
  try {
    await page.goto(site.origin)
    await run(page)
    assert.deepEqual(problems, [])
  } finally {
    await context.close()
  }
}

describe('<adoptable-animals> on another web site', () => {
  browserTest('shows the animals with links to their pages, and more on request', async () => {
    await open(`store="${test.service.base}/"`, async (page) => {
      await expectCount(cards(page), 12)
      const first = cards(page).first()
      await expectText(first.getByRole('heading'), hostile)
      await expectAttribute(first.getByRole('link'), 'href', `${test.service.base}/adopt/15`)
      await expectText(first.locator('.text p'), /Female/)
      await expectTexts(page.locator('adoptable-animals .badge'), ['Reserved'])
      await waitUntil(page, `${shadow}.querySelector('img').naturalWidth > 0`)
      await page.getByRole('button', { name: 'Show more' }).press('Enter')
      await cards(page).nth(14).waitFor()
      await waitUntil(page, `${shadow}.activeElement.textContent === 'Pet 2'`)
      await expectNone(page.getByRole('button'), cards(page).nth(14))
    })
  })

  browserTest('needs no store if the script is that of the store, and follows its attributes', async () => {
    await open('species="cat" sex="female" good-with="" limit="3"', async (page) => {
      await expectCount(cards(page), 3)
      const all = page.getByRole('link', { name: 'See all animals' })
      await expectAttribute(all, 'href', `${test.service.base}/adopt?species=cat&sex=female`)
      await page.evaluate(`document.querySelector('adoptable-animals').setAttribute('species', 'unicorn')`)
      await expectNone(cards(page), page.getByText('No animal is looking for a home at the moment.'))
    })
  })

  browserTest('says that the animals cannot be shown, and tries again', async () => {
    await test.api('PATCH', '/store/profile', { adoptionPage: false })
    await open(`store="${test.service.base}" limit="2"`, async (page) => {
      // The script is not there either: the content of the element is shown.
      await page.getByRole('link', { name: 'Our animals' }).waitFor()
    })
    await test.api('PATCH', '/store/profile', { adoptionPage: true })
    await open(`store="http://127.0.0.1:1" limit="2"`, async (page) => {
      await page.getByText('The animals cannot be shown at the moment.').waitFor()
      await page.evaluate(
        `document.querySelector('adoptable-animals').setAttribute('store', ${JSON.stringify(test.service.base)})`,
      )
      await cards(page).nth(1).waitFor()
    })
  })

  browserTest('works with a strict policy of the site', async () => {
    const { base } = test.service
    site.headers = {
      'Content-Security-Policy': `default-src 'none'; script-src ${base}; connect-src ${base}; img-src ${base} data:`,
    }
    await open(`store="${base}"`, async (page) => {
      await cards(page).nth(11).waitFor()
      // The cards are in a grid.
      await waitUntil(page, `${shadow}.querySelector('li').offsetWidth < 400`)
    })
    site.headers = {}
  })

  for (const [name, options, theme] of [
    ['on a phone', { ...phone, colorScheme: 'light' }, ''],
    ['in dark colors', { colorScheme: 'dark' }, 'theme="auto"'],
    ['on a dark page', { colorScheme: 'dark' }, ''],
  ] as const)
    browserTest(`is accessible ${name}`, async () => {
      const css = name === 'on a phone' ? '' : ':root { color-scheme: light dark }'
      await open(
        `${theme} store="${test.service.base}"`,
        async (page) => {
          await cards(page).nth(11).waitFor()
          await assertAccessible(page)
          await assertFits(page)
          await screenshot(page, `adopt-embed ${name}`)
        },
        options,
        css,
      )
    })
})
