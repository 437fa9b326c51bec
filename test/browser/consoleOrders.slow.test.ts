import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { createPets } from '../../src/pets/storedPets.ts'
import { browserTest } from '../support/browser.ts'
import {
  assertFits,
  assertSilentSignOut,
  assertSound,
  assertSoundInBoth,
  desktop,
  nextFrame,
  phone,
  screenshot,
  waitUntil,
} from '../support/console.ts'
import { card, column, ordersOf } from '../support/consoleOrders.ts'
import { eventually, eventuallyHolds } from '../support/eventually.ts'
import { expectAttribute, expectCount, expectNone } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

const hourMs = 60 * 60 * 1000
/** The most cards of a column after a load. */
const cardsMax = 200

const test = useConsole({}, async ({ api }) => {
  await api('POST', '/categories', { name: 'Dogs' })
  // One order in each column.
  await addOrder('Nutmeg')
  for (const [name, ...statuses] of [
    ['Bramble', 'approved'],
    ['Fern', 'approved', 'delivered'],
    ['Basil', 'cancelled'],
  ] as const) {
    const { id } = await addOrder(name)
    for (const status of statuses) await api('PATCH', `/store/orders/${id}`, { status })
  }
})
const { api, service, visit } = test
const { addOrder, addPet, statusOf } = ordersOf(test)

/** Adds orders without the API, one for each of as many animals. Returns their ids, newest first. */
async function addApprovedOrders(count: number): Promise<number[]> {
  const database = await service.openDatabase()
  const now = service.now()
  const petIds = Array.from({ length: count }, (_, index) => 10_000 + index)
  const pets = petIds.map((id) => ({
    id,
    name: `Animal ${id}`,
    categoryId: 1n,
    status: 'pending' as const,
  }))
  const orders = petIds.map((pet_id) => ({
    pet_id,
    status: 'approved',
    customer_name: 'Ada Example',
    placed_at: now,
    updated_at: now,
  }))
  const added = await database.write(async (trx) => {
    await createPets(trx, pets, now)
    return trx.insertInto('orders').values(orders).returning('id').execute()
  })
  return added.map(({ id }) => id).sort((a, b) => b - a)
}

/** A column whose newest orders are not shown, on each size of screen and in each colour scheme. */
async function assertLongColumnFits(page: Page): Promise<void> {
  for (const [size, { viewport }] of Object.entries({ phone, desktop })) {
    await page.setViewportSize(viewport)
    if (size === 'phone') await page.getByRole('button', { name: /^Approved/ }).click()
    await column(page, 'Approved').getByRole('button', { name: 'Load newer' }).scrollIntoViewIfNeeded()
    await assertFits(page)
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      await screenshot(page, `orders-newer-${size}-${colorScheme}`)
    }
  }
}

describe('orders', () => {
  browserTest('signing out during a change shows no error for it', () =>
    visit('orders', ({ page }) =>
      assertSilentSignOut(page, '**/v1/store/orders/*', () =>
        card(page, 'Placed', 'Nutmeg').getByRole('button', { name: 'Approve' }).click(),
      ),
    ),
  )

  browserTest('shows the time left on the hold, the adopter and the note', async () => {
    await addOrder('Hazel')
    await visit('orders', async ({ page }) => {
      const hazel = card(page, 'Placed', 'Hazel')
      await hazel.getByText(/Held for 2 d 23 h|Held for 3 d 0 h/).waitFor()
      await hazel.getByText('Ada Example').waitFor()
      await hazel.getByText('Has a garden.').waitFor()
    })
  })

  browserTest('a long note is shortened until it is opened, and an e-mail address is a link', async () => {
    const note = 'Has a garden.\n'.repeat(20)
    const order = await addOrder('Maple', { name: 'Ada', email: 'ada+cats@example.com' }, note)
    await visit('orders', async (opened) => {
      const { page } = opened
      const maple = card(page, 'Placed', 'Maple')
      const link = maple.getByRole('link', { name: 'ada+cats@example.com' })
      await expectAttribute(link, 'href', 'mailto:ada%2Bcats@example.com')
      const text = maple.getByText('Has a garden.')
      await maple.getByRole('button', { name: 'Show whole note' }).waitFor()
      // biome-ignore lint/plugin: the button is there once the note was shortened
      const shortened = (await text.boundingBox())?.height ?? 0
      await assertSoundInBoth(opened, 'orders-note')
      await page.setViewportSize(phone.viewport)
      await screenshot(page, 'orders-note-phone')
      await maple.getByRole('button', { name: 'Show whole note' }).click()
      const showLess = maple.getByRole('button', { name: 'Show less' })
      await expectNone(card(page, 'Placed', 'Nutmeg').getByRole('button', { name: /note/ }), showLess)
      await eventuallyHolds(async () => {
        const height = (await text.boundingBox())?.height ?? 0
        assert.ok(height > 6 * shortened, `${shortened}, ${height}`)
      })
    })
    await api('PATCH', `/store/orders/${order.id}`, { status: 'cancelled' })
  })

  browserTest(
    'an order that moves while the board is opened again is not said to be out of sight',
    async () => {
      const { id } = await addOrder('Thyme')
      await visit('orders', async ({ page }) => {
        const approve = Promise.withResolvers<void>()
        await page.route(`**/v1/store/orders/${id}`, async (route) => {
          await approve.promise
          await route.continue()
        })
        const sent = page.waitForRequest((request) => request.method() === 'PATCH')
        await card(page, 'Placed', 'Thyme').getByRole('button', { name: 'Approve' }).click()
        await sent
        await page.getByRole('link', { name: 'Limits' }).click()
        await page.getByText('This day').waitFor()
        // The new board has not loaded its orders yet.
        const load = Promise.withResolvers<void>()
        await page.route('**/v1/store/orders?*', async (route) => {
          await load.promise
          await route.continue()
        })
        const loading = page.waitForRequest('**/v1/store/orders?*')
        await page.getByRole('link', { name: 'Orders' }).click()
        await loading
        approve.resolve()
        await expectNone(
          page.getByText('The board shows another part of that column.'),
          page.getByText(`Order ${id} for Thyme approved.`),
        )
        load.resolve()
        await card(page, 'Approved', 'Thyme').waitFor()
      })
    },
  )

  browserTest('a cancellation is sent when the page is closed before the time for undoing ends', async () => {
    const { id } = await addOrder('Sorrel')
    await visit('orders', async ({ page }) => {
      await page.getByRole('button', { name: `Actions for order ${id}` }).click()
      await page.getByRole('menuitem', { name: 'Cancel order' }).click()
      await page.getByText(`Order ${id} for Sorrel cancelled.`).hover()
      await card(page, 'Cancelled', 'Sorrel').waitFor()
      assert.equal(await statusOf(id), 'placed')
      await page.goto('about:blank').catch(() => {})
    })
    await eventually('the cancellation', async () => (await statusOf(id)) === 'cancelled')
  })

  browserTest('the errors of the API are shown at their fields', async () => {
    await addPet('Clover')
    await visit('animals', async ({ page }) => {
      await page
        .getByRole('row')
        .filter({ hasText: 'Clover' })
        .getByRole('button', { name: 'Place order' })
        .click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Place order' }).click()
      await dialog.getByText('Enter the name of the adopter.').waitFor()
      await dialog.getByLabel('Adopter').fill('Ada')
      await dialog.getByLabel('E-mail').fill('nowhere')
      await dialog.getByRole('button', { name: 'Place order' }).click()
      await dialog.getByText('Must be an e-mail address.').waitFor()
    })
  })

  browserTest('has one column at a time on a phone', () =>
    visit(
      'orders',
      async (opened) => {
        const { page } = opened
        await card(page, 'Placed', 'Nutmeg').waitFor()
        await assertSoundInBoth(opened, 'orders-phone')
        await page.getByRole('button', { name: /^Cancelled/ }).click()
        await card(page, 'Cancelled', 'Basil').waitFor()
        await assertSound(opened)
        await screenshot(page, 'orders-cancelled-phone')
      },
      phone,
    ),
  )

  browserTest('an expired hold moves the order to Cancelled, and says why', async () => {
    await addOrder('Olive')
    await visit('orders', async ({ page }) => {
      await card(page, 'Placed', 'Olive').waitFor()
      service.advance(73 * hourMs)
      await card(page, 'Cancelled', 'Olive').getByText('The hold expired.').waitFor({ timeout: 60_000 })
    })
  })

  browserTest('every order of a long column can be reached, and what others change stays right', async () => {
    const ids = await addApprovedOrders(320)
    await visit('orders', async ({ page }) => {
      const approved = column(page, 'Approved')
      const cards = approved.getByRole('listitem')
      const order = (status: string, id: number | undefined) =>
        column(page, status)
          .getByRole('listitem')
          .filter({ hasText: `Order ${id} ·` })
      const click = (name: string) => approved.getByRole('button', { name }).click()
      for (const last of [50, 100, 150, 200]) {
        await order('Approved', ids[last - 1]).waitFor()
        await approved.getByRole('button', { name: 'Load more' }).scrollIntoViewIfNeeded()
        await nextFrame(page)
        // biome-ignore lint/plugin: what was scrolled to is drawn
        const place = await order('Approved', ids[last - 1]).boundingBox()
        await click('Load more')
        await order('Approved', ids[last]).waitFor()
        // What was read stays in its place, also when the newest cards are dropped.
        await eventuallyHolds(async () =>
          assert.deepEqual(await order('Approved', ids[last - 1]).boundingBox(), place),
        )
      }
      await expectCount(cards, cardsMax)
      await screenshot(page, 'orders-many')
      // Changes of an order in the column, of one above it, and a new one.
      for (const id of [ids[60], ids[10]]) {
        await api('PATCH', `/store/orders/${id}`, { status: 'delivered' })
        await order('Delivered', id).waitFor()
      }
      const added = await addOrder('Saffron')
      await order('Placed', added.id).waitFor()
      await api('PATCH', `/store/orders/${added.id}`, { status: 'approved' })
      await order('Placed', added.id).waitFor({ state: 'detached' })
      await expectCount(order('Approved', ids[60]), 0)
      await expectCount(cards, cardsMax - 1)
      await click('Load more')
      await order('Approved', ids[250]).waitFor()
      await click('Load more')
      await expectNone(approved.getByRole('button', { name: 'Load more' }), order('Approved', ids.at(-1)))
      await assertLongColumnFits(page)
      await click('Load newer')
      await order('Approved', ids[100]).waitFor()
      await eventuallyHolds(async () => assert.ok((await cards.count()) <= cardsMax))
      await click('Newest')
      await expectNone(approved.getByRole('button', { name: /newe/i }), order('Approved', added.id))
      await expectCount(cards, 50)
      await waitUntil(page, `document.activeElement.id === 'content'`)
    })
  })
})
