import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest, type PageVisit } from '../support/browser.ts'
import { assertSound, assertSoundInBoth, desktop, hostile, phone, screenshot } from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { useConsole, type VisitOptions } from '../support/useConsole.ts'

const undoMs = 6_000
const beyondDouble = 9_007_199_254_740_993n

const { api, service, visit } = useConsole({}, async ({ api }) => {
  await api('POST', '/categories', { name: 'Dogs' })
  await api('POST', '/categories', { name: 'Cats' })
})
const addPet = (name: string, fields: object = {}) => api('POST', '/pets', { name, categoryId: 1, ...fields })

const withAnimals = (run: (opened: PageVisit) => Promise<void>, options: VisitOptions = {}) =>
  visit(
    'animals',
    async (opened) => {
      await opened.page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
      await run(opened)
    },
    options,
  )

const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
async function choose(page: Page, name: string, action: string) {
  await page.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menuitem', { name: action }).click()
}
const focusIsOnTable = (page: Page) => page.locator('.table-scroll:focus').waitFor()
const statusOf = async (id: number) => (await api('GET', `/pets?id=${id}`))[0]?.status

describe('animals', () => {
  browserTest('an animal is added with a new category, after the fields that are wrong are named', () =>
    withAnimals(async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: /^Add/ }).first().click()
      const dialog = page.getByRole('dialog', { name: 'Add an animal' })
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.getByText('Enter a name.').waitFor()
      await dialog.getByText('Choose a category.').waitFor()
      await assertSound(opened)
      await screenshot(page, 'animals-add-errors')
      await dialog.getByLabel('Name', { exact: true }).fill('Biscuit')
      await dialog.getByLabel('Category').selectOption({ label: 'New category…' })
      await dialog.getByLabel('Name of the new category').fill('Rabbits')
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.waitFor({ state: 'detached' })
      await row(page, 'Biscuit').getByText('Rabbits').filter({ visible: true }).waitFor()
      await page.getByText('Biscuit added.').waitFor()
    }),
  )

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
      await dialog.getByLabel('Category').selectOption({ label: 'New category…' })
      await dialog.getByLabel('Name of the new category').fill('x'.repeat(1_000))
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.locator('[aria-invalid]:focus').waitFor()
      assert.equal(await name.getAttribute('aria-invalid'), null, 'The error is that of the category.')
      await dialog.getByLabel('Name of the new category').fill('Ferrets')
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.getByText('Must not be a swear word.').waitFor()
      assert.equal(await name.getAttribute('aria-invalid'), 'true')
      await dialog.getByText('/color must be set').waitFor()
      // The category exists by now, so the next attempt uses it.
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.getByText('Must not be a swear word.').waitFor()
      assert.equal(await dialog.getByLabel('Category').locator('option:checked').innerText(), 'Ferrets')
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
      await dialog.getByLabel('Category').selectOption({ label: 'Dogs' })
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await dialog.getByText('The limit is exceeded.').waitFor()
      assert.ok(!(await dialog.innerText()).includes('Retry after'))
      const countdown = dialog.getByText(/^Try again in \d+ s/)
      const first = await countdown.innerText()
      await eventually('the time goes on', async () => (await countdown.innerText()) !== first)
    }),
  )

  browserTest('an animal is edited, and only allowed changes of its status are offered', async () => {
    const { id } = await addPet('Ollie', { status: 'sold' })
    await withAnimals(async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: 'Actions for Ollie' }).click()
      const items = await page.getByRole('menuitem').allTextContents()
      assert.deepEqual(items, ['Edit', 'Mark as available', 'Remove'])
      await screenshot(page, 'animals-menu')
      await page.getByRole('menuitem', { name: 'Edit' }).click()
      const dialog = page.getByRole('dialog', { name: 'Edit Ollie' })
      assert.deepEqual(await dialog.getByLabel('Status').locator('option').allTextContents(), [
        'Available',
        'Sold',
      ])
      await assertSound(opened)
      await screenshot(page, 'animals-edit')
      await dialog.getByLabel('Name', { exact: true }).fill('Oliver')
      await dialog.getByLabel('Category').selectOption({ label: 'Cats' })
      await dialog.getByLabel('Status').selectOption({ label: 'Available' })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await row(page, 'Oliver').getByText('Available').waitFor()
      const [saved] = await api('GET', `/pets?id=${id}`)
      assert.deepEqual([saved.name, saved.categoryId, saved.status], ['Oliver', 2, 'available'])
    })
  })

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
      assert.ok(await page.getByRole('button', { name: 'Undo' }).isVisible())
      await page.mouse.move(5, 5)
      await page.clock.fastForward(undoMs)
      await eventually('the removal', async () => (await statusOf(id)) === undefined)
      assert.equal(requests.length, 1)
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

  browserTest('filters and search find animals by status, category, name and id', async () => {
    const cat = await addPet('Mittens', { categoryId: 2, status: 'sold' })
    await addPet('Rex')
    await withAnimals(async ({ page }) => {
      await row(page, 'Rex').waitFor()
      await page.getByLabel('Status', { exact: true }).selectOption('sold')
      await row(page, 'Rex').waitFor({ state: 'detached' })
      await row(page, 'Mittens').waitFor()
      await page.getByLabel('Category', { exact: true }).selectOption({ label: 'Dogs' })
      await row(page, 'Mittens').waitFor({ state: 'detached' })
      await page.getByLabel('Category', { exact: true }).selectOption({ label: 'Cats' })
      await row(page, 'Mittens').waitFor()
      assert.match(page.url(), /\?status=sold&category=2$/)
      await page.getByLabel('Search by name or id').fill('nobody')
      await page.getByText('No animals match').waitFor()
      await page.getByText('with this status and category').waitFor()
      await screenshot(page, 'animals-no-match')
      await page.getByRole('button', { name: 'Clear search and filters' }).click()
      await row(page, 'Rex').waitFor()
      await page.getByLabel('Search by name or id').fill('mitt')
      await row(page, 'Rex').waitFor({ state: 'detached' })
      await row(page, 'Mittens').waitFor()
      await page.getByText(/^Found 1\. All \d+ animals were searched\.$/).waitFor()
      await page.getByLabel('Search by name or id').fill(String(cat.id))
      await eventually('one animal', async () => (await page.getByRole('row').count()) === 2)
      await row(page, 'Mittens').waitFor()
    })
  })

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
      await page.getByLabel('Category', { exact: true }).selectOption(String(beyondDouble))
      await row(page, 'Digits').waitFor()
      await page.getByRole('button', { name: 'Add animal' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name', { exact: true }).fill('Decimal')
      await dialog.getByLabel('Category', { exact: true }).selectOption(String(beyondDouble))
      await dialog.getByRole('button', { name: 'Add animal' }).click()
      await row(page, 'Decimal').waitFor()
      assert.equal(await page.getByRole('row').count(), 3)
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
      assert.equal(await page.locator('img').count(), 0)
      assert.deepEqual(dialogs, [])
      await assertSound(opened)
    })
  })

  browserTest('a name that changes the direction of text changes only itself', async () => {
    const name = '\u202eevol'
    await addPet(name)
    await withAnimals(async ({ page }) => {
      await row(page, name).waitFor()
      await choose(page, name, 'Remove')
      const toast = page.locator('.toast-text')
      await toast.waitFor()
      assert.equal(await toast.innerText(), `${name} removed.`)
      assert.equal(await toast.locator('bdi').innerText(), name)
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
      await dialog.waitFor()
      assert.equal(await page.evaluate('document.activeElement.closest("dialog") !== null'), true)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
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
      const version = page.waitForResponse(`**/v1/pets/${id}`)
      await choose(page, 'Clover', 'Edit')
      await version
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

  browserTest('an open dialog says that others have reserved, changed or removed the animal', async () => {
    const { id } = await addPet('Juniper')
    await withAnimals(async ({ page }) => {
      await page.getByText('Live', { exact: true }).waitFor()
      const dialog = page.getByRole('dialog')
      await choose(page, 'Juniper', 'Place order')
      await dialog.getByLabel('Adopter').waitFor()
      const order = await api('POST', '/store/orders', { petId: id })
      await dialog.getByText('Someone else reserved this animal first.').waitFor()
      assert.equal(await dialog.getByLabel('Adopter').count(), 0)
      await page.keyboard.press('Escape')
      await choose(page, 'Juniper', 'Edit')
      await dialog.getByLabel('Name', { exact: true }).waitFor()
      await api('PATCH', `/store/orders/${order.id}`, { status: 'cancelled' })
      await dialog.getByText('it is now Juniper, Dogs, available').waitFor()
      await api('DELETE', `/pets/${id}`)
      await dialog.getByText('Someone else has removed this animal.').waitFor()
      assert.equal(await dialog.getByRole('button', { name: 'Save' }).count(), 0)
    })
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
      await page.route('**/v1/pets?**', (route) =>
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
      await assertSound(opened)
      await screenshot(page, 'animals-limited')
      isLimited = false
      await page.getByRole('row').nth(1).waitFor()
    }),
  )

  browserTest('an error and a lost connection are shown with a way out', () =>
    withAnimals(async (opened) => {
      const { page } = opened
      let outcome: 'error' | 'offline' | 'ok' = 'error'
      await page.route('**/v1/pets?**', (route) => {
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
      await assertSound(opened)
      await screenshot(page, 'animals-error')
      outcome = 'offline'
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByText('The service cannot be reached').waitFor()
      await screenshot(page, 'animals-offline')
      outcome = 'ok'
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByRole('row').nth(1).waitFor()
    }),
  )

  browserTest('is sound on a phone, with its navigation and its dialog', () =>
    withAnimals(async (opened) => {
      const { page } = opened
      await page.getByRole('row').nth(1).waitFor()
      await assertSoundInBoth(opened, 'animals-phone')
      await page.getByRole('button', { name: 'Open navigation' }).click()
      await page.getByRole('link', { name: 'Orders' }).waitFor()
      await assertSoundInBoth(opened, 'navigation-phone')
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Add animal' }).click()
      await page.getByRole('dialog', { name: 'Add an animal' }).waitFor()
      await assertSoundInBoth(opened, 'animals-add-phone')
    }, phone),
  )

  browserTest('is sound on a desktop', () =>
    withAnimals(async (opened) => {
      await opened.page.getByRole('row').nth(1).waitFor()
      await assertSoundInBoth(opened, 'animals-desktop')
    }, desktop),
  )
})
