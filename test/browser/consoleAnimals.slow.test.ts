import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest } from '../support/browser.ts'
import { assertSilentSignOut, assertSoundInBoth, choose, goTo, screenshot } from '../support/console.ts'
import { addCategories, animalsOf, row } from '../support/consoleAnimals.ts'
import { eventually } from '../support/eventually.ts'
import { expectAttribute, expectCount, expectNone, expectText, textMatching } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

const beyondDouble = 9_007_199_254_740_993n

const test = useConsole({}, addCategories)
const { api, service } = test
const { addPet, statusOf, withAnimals } = animalsOf(test)

describe('animals', () => {
  browserTest('an error of the API is shown at its field, and others above the fields', () =>
    withAnimals(async ({ page }) => {
      await page.route('**/v1/pets', (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({
              status: 400,
              json: {
                code: 'validation_failed',
                message: 'The request has invalid values.',
                status: 400,
                details: [
                  { path: '/name', message: 'must not be a swear word' },
                  { path: '/color', message: 'must be set' },
                ],
              },
            })
          : route.continue(),
      )
      const categories: (string | null)[] = []
      page.on('request', (request) => {
        if (request.method() === 'POST' && request.url().endsWith('/v1/categories'))
          categories.push(request.postData())
      })
      await page.getByRole('button', { name: /^Add/ }).first().click()
      const dialog = page.getByRole('dialog')
      const name = dialog.getByLabel('Name', { exact: true })
      await name.fill('Damn')
      await dialog.getByLabel('Category', { exact: true }).selectOption({ label: 'New category…' })
      await dialog.getByLabel('Name of the new category').fill('x'.repeat(1_000))
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.locator('[aria-invalid]:focus').waitFor()
      // The error is that of the category.
      await expectAttribute(name, 'aria-invalid', null)
      await dialog.getByLabel('Name of the new category').fill('Ferrets')
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.getByText('Must not be a swear word.').waitFor()
      await expectAttribute(name, 'aria-invalid', 'true')
      await dialog.getByText('/color must be set').waitFor()
      // The category exists by now, so the next attempt uses it.
      const rejected = page.waitForResponse('**/v1/pets')
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await rejected
      await dialog.getByText('Must not be a swear word.').waitFor()
      await expectText(dialog.getByLabel('Category', { exact: true }).locator('option:checked'), 'Ferrets')
      assert.equal(categories.length, 2)
    }),
  )

  browserTest('a rate limit counts down in a dialog', () =>
    withAnimals(async ({ page }) => {
      const json = {
        code: 'rate_limit_exceeded',
        message: 'The limit is exceeded. Retry after 40 seconds.',
        status: 429,
      }
      await page.route('**/v1/pets', (route) =>
        route.fulfill({ status: 429, headers: { 'retry-after': '40' }, json }),
      )
      await page.getByRole('button', { name: /^Add/ }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name', { exact: true }).fill('Milo')
      await dialog.getByLabel('Category', { exact: true }).selectOption({ label: 'Dogs' })
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await expectNone(dialog.getByText('Retry after'), dialog.getByText('The limit is exceeded.'))
      const countdown = dialog.getByText(/^Try again in \d+ s/)
      const first = await textMatching(countdown, /.+/)
      await eventually('the time goes on', async () => (await countdown.innerText()) !== first)
    }),
  )

  browserTest('a change is shown at once and taken back if the API rejects it', async () => {
    const { id } = await addPet('Pepper')
    await withAnimals(async ({ page }) => {
      await row(page, 'Pepper').waitFor()
      let release = () => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      await page.route(`**/v1/pets/${id}`, async (route) => {
        await held
        await route.continue()
      })
      // Reserved by someone else, while this page does not know it yet.
      await page.route('**/v1/events', (route) => route.abort())
      await choose(page, 'Pepper', 'Mark as sold')
      await row(page, 'Pepper').getByText('Sold').waitFor()
      await api('POST', '/store/orders', { petId: id })
      release()
      await page.getByText('Pepper has an open order. Deliver or cancel the order first.').waitFor()
      await row(page, 'Pepper').getByText('Sold').waitFor({ state: 'detached' })
      assert.equal(await statusOf(id), 'pending')
    })
  })

  browserTest(
    'a removal is sent at sign-out, and when the page is closed before the time for undoing ends',
    async () => {
      const { id } = await addPet('Ziggy')
      const { id: otherId } = await addPet('Zelda')
      await withAnimals(async ({ page }) => {
        await choose(page, 'Ziggy', 'Remove')
        await row(page, 'Ziggy').waitFor({ state: 'detached' })
        await page.goto('about:blank').catch(() => {})
      })
      await eventually('the removal', async () => (await statusOf(id)) === undefined)
      await withAnimals(async ({ page }) => {
        await choose(page, 'Zelda', 'Remove')
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.getByLabel('API key').waitFor()
        await eventually('the removal', async () => (await statusOf(otherId)) === undefined)
      })
    },
  )

  browserTest('signing out during a change shows no error for it', async () => {
    await addPet('Quincy')
    await withAnimals(({ page }) =>
      assertSilentSignOut(page, '**/v1/pets/*', () => choose(page, 'Quincy', 'Mark as sold')),
    )
  })

  browserTest('a name of 255 emoji is accepted, as by the API', () =>
    withAnimals(async ({ page }) => {
      await page.getByRole('button', { name: /^Add/ }).first().click()
      const dialog = page.getByRole('dialog')
      const name = dialog.getByLabel('Name', { exact: true })
      await dialog.getByLabel('Category', { exact: true }).selectOption('1')
      await name.fill('🐈'.repeat(256))
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.getByText('A name has at most 255 characters.').waitFor()
      await name.fill('🐈'.repeat(255))
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.waitFor({ state: 'detached' })
    }),
  )

  browserTest('a category id beyond 2^53 keeps every digit', async () => {
    await service.request('POST', '/v1/pets', {
      key: service.operatorKey,
      headers: { 'content-type': 'application/json' },
      body: `{"name":"Digit","categoryId":${beyondDouble}}`,
    })
    await withAnimals(async ({ page }) => {
      await row(page, 'Digit').getByText(`Category ${beyondDouble}`).filter({ visible: true }).waitFor()
      await choose(page, 'Digit', 'Edit')
      await page.getByLabel('Name', { exact: true }).fill('Digits')
      await page.getByRole('button', { name: 'Save' }).click()
      await row(page, 'Digits').getByText(`Category ${beyondDouble}`).filter({ visible: true }).waitFor()
      await row(page, 'Digits').getByTitle(`Category ${beyondDouble}`).waitFor()
      // The dialog, which has a field with this label too, may still be open.
      await page.getByRole('search').getByLabel('Category').selectOption(String(beyondDouble))
      await row(page, 'Digits').waitFor()
      await page.getByRole('button', { name: 'Add animal' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name', { exact: true }).fill('Decimal')
      await dialog.getByLabel('Category', { exact: true }).selectOption(String(beyondDouble))
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await page.waitForURL(/\/console\/animals\/\d+$/)
      await goTo(page, `animals?category=${beyondDouble}`)
      await row(page, 'Decimal').waitFor()
      await expectCount(page.getByRole('row'), 3)
    })
  })

  browserTest('a name that changes the direction of text changes only itself', async () => {
    const name = '\u202eevol'
    await addPet(name)
    await withAnimals(async ({ page }) => {
      await row(page, name).waitFor()
      await choose(page, name, 'Remove')
      const toast = page.locator('.toast-text')
      await expectText(toast, `${name} removed.`)
      await expectText(toast.locator('bdi'), name)
      await page.getByRole('button', { name: 'Undo' }).click()
    })
  })

  browserTest('everything works by keyboard', async () => {
    await addPet('Keyboard')
    await withAnimals(async ({ page }) => {
      await row(page, 'Keyboard').waitFor()
      await page.getByRole('button', { name: 'Actions for Keyboard' }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('menuitem', { name: 'Place order' }).waitFor()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Edit Keyboard' })
      await dialog.locator(':focus').waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    })
  })
})

describe('live changes', () => {
  browserTest('an open dialog says that others have reserved, changed or removed the animal', async () => {
    const { id } = await addPet('Juniper')
    await withAnimals(async ({ page }) => {
      await page.getByText('Live', { exact: true }).waitFor()
      const dialog = page.getByRole('dialog')
      await choose(page, 'Juniper', 'Place order')
      await dialog.getByLabel('Adopter').waitFor()
      const order = await api('POST', '/store/orders', { petId: id })
      await dialog.getByText('A colleague was faster').waitFor()
      await page.keyboard.press('Escape')
      await choose(page, 'Juniper', 'Edit')
      await dialog.getByLabel('Name', { exact: true }).waitFor()
      await api('PATCH', `/store/orders/${order.id}`, { status: 'cancelled' })
      await dialog.getByText('it is now Juniper, Dogs, available').waitFor()
      await api('DELETE', `/pets/${id}`)
      const removed = dialog.getByText('Someone else has removed this animal.')
      await expectNone(dialog.getByRole('button', { name: 'Save' }), removed)
    })
  })

  browserTest('a lost stream is shown, and what changed in between appears when it is back', async () => {
    await withAnimals(async (opened) => {
      const { page } = opened
      await page.getByText('Live', { exact: true }).waitFor()
      const key = await service.makeKey({
        name: 'Temporary',
        plan: 'enterprise',
        scopes: ['pets:read', 'events:read'],
      })
      await withAnimals(
        async ({ page: other }) => {
          await other.getByText('Live', { exact: true }).waitFor()
          // Without the scope the stream ends; a new one is refused.
          await api('PATCH', `/keys/${key.id}`, { scopes: ['pets:read'] })
          await other.getByText('No live updates').waitFor({ timeout: 20_000 })
        },
        { key: key.key },
      )
      await page.route('**/v1/events', (route) => route.abort())
      await page.context().setOffline(true)
      await page.getByText('Reconnecting').waitFor({ timeout: 60_000 })
      await screenshot(page, 'animals-reconnecting')
      await addPet('Bramble')
      await page.unroute('**/v1/events')
      await page.context().setOffline(false)
      await row(page, 'Bramble').waitFor({ timeout: 40_000 })
      await page.getByText('Live', { exact: true }).waitFor()
    })
  })
})

describe('states', () => {
  browserTest('a rate limit is shown with a countdown, and ends by itself', () =>
    withAnimals(async (opened) => {
      const { page } = opened
      let isLimited = true
      await page.route('**/v1/listings?**', (route) =>
        isLimited
          ? route.fulfill({
              status: 429,
              headers: { 'retry-after': '1' },
              json: { code: 'rate_limit_exceeded', message: 'The rate limit is exceeded.', status: 429 },
            })
          : route.continue(),
      )
      await page.getByLabel('Status', { exact: true }).selectOption('available')
      await page.getByText('Rate limit reached').waitFor()
      await assertSoundInBoth(opened, 'animals-limited')
      isLimited = false
      await page.getByRole('row').nth(1).waitFor()
    }),
  )

  browserTest('an error and a lost connection are shown with a way out', () =>
    withAnimals(async (opened) => {
      const { page } = opened
      let outcome: 'error' | 'offline' | 'ok' = 'error'
      await page.route('**/v1/listings?**', (route) => {
        if (outcome === 'ok') return route.continue()
        if (outcome === 'offline') return route.abort()
        const json = {
          code: 'internal_error',
          message: 'The service failed to process the request.',
          status: 500,
        }
        return route.fulfill({ status: 500, headers: { 'x-request-id': 'request-7' }, json })
      })
      await page.getByLabel('Status', { exact: true }).selectOption('available')
      await page.getByText('Something went wrong').waitFor()
      await page.getByText('request-7').waitFor()
      await assertSoundInBoth(opened, 'animals-error')
      outcome = 'offline'
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByText('The service cannot be reached').waitFor()
      await screenshot(page, 'animals-offline')
      outcome = 'ok'
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByRole('row').nth(1).waitFor()
    }),
  )
})
