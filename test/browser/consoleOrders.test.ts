import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { createPets } from '../../src/pets/queries.ts'
import { browserTest, type PageVisit } from '../support/browser.ts'
import {
  assertFits,
  assertSound,
  assertSoundInBoth,
  desktop,
  hostile,
  phone,
  screenshot,
  waitUntil,
} from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { startTestService } from '../support/service.ts'
import { useConsole } from '../support/useConsole.ts'

const hourMs = 60 * 60 * 1000
const undoMs = 6_000
/** The most cards of a column after a load. */
const cardsMax = 200

const { api, service, visit } = useConsole({}, async ({ api }) => {
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
const addPet = (name: string) => api('POST', '/pets', { name, categoryId: 1 })
async function addOrder(
  name: string,
  customer = { name: 'Ada Example', email: 'ada@example.com' },
  note = 'Has a garden.',
) {
  const { id: petId } = await addPet(name)
  return api('POST', '/store/orders', { petId, customer, note })
}
const statusOf = async (orderId: number) => (await api('GET', `/store/orders/${orderId}`)).status

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

const column = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const card = (page: Page, status: string, name: string) =>
  column(page, status).getByRole('listitem').filter({ hasText: name })

describe('orders', () => {
  browserTest('the first adoption, from an empty store to the delivered order', async () => {
    const empty = await startTestService({}, { startAt: 'now' })
    const adopt = async (opened: PageVisit) => {
      const { page } = opened
      await page.getByRole('link', { name: 'Orders' }).click()
      await page.getByText('No orders yet').waitFor()
      await screenshot(page, 'orders-empty')
      await assertSound(opened)
      await page.getByRole('link', { name: 'Animals', exact: true }).click()
      await page.getByRole('button', { name: 'Add the first animal' }).waitFor()
      await screenshot(page, 'animals-empty')
      await page.getByRole('button', { name: 'Add the first animal' }).click()
      await page.getByLabel('Name', { exact: true }).fill('Milo')
      await page.getByLabel('Name of the new category').fill('Dogs')
      await page.getByRole('dialog').getByRole('button', { name: 'Add animal' }).click()
      await page.getByRole('button', { name: 'Place order', exact: true }).click()
      await page.getByLabel('Adopter').fill('Ada Example')
      await screenshot(page, 'order-dialog')
      await page.getByRole('dialog').getByRole('button', { name: 'Place order' }).click()
      await page.getByText('Order 1 placed for Milo.').waitFor()
      await page.getByRole('link', { name: 'Orders' }).click()
      await page.clock.install()
      await card(page, 'Placed', 'Milo').getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Order 1 for Milo approved.').waitFor()
      await card(page, 'Approved', 'Milo').getByRole('button', { name: 'Mark as delivered' }).click()
      await page.getByText('Order 1 for Milo delivered.').waitFor()
      await card(page, 'Delivered', 'Milo').waitFor()
      await screenshot(page, 'orders-undo')
      await page.clock.fastForward(undoMs)
      await eventually('the adoption', async () => {
        const { json } = await empty.request('GET', '/v1/pets', { key: empty.operatorKey })
        return json[0].status === 'sold'
      })
      await assertSound(opened)
    }
    await visit('/console', adopt, { service: empty }).finally(() => empty.stop())
  })

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
      assert.equal(await link.getAttribute('href'), 'mailto:ada%2Bcats@example.com')
      const text = maple.getByText('Has a garden.')
      const heightOf = async () => (await text.boundingBox())?.height ?? 0
      await maple.getByRole('button', { name: 'Show whole note' }).waitFor()
      const shortened = await heightOf()
      await assertSoundInBoth(opened, 'orders-note')
      await page.setViewportSize(phone.viewport)
      await screenshot(page, 'orders-note-phone')
      await maple.getByRole('button', { name: 'Show whole note' }).click()
      await maple.getByRole('button', { name: 'Show less' }).waitFor()
      assert.ok((await heightOf()) > 6 * shortened, `${shortened}, ${await heightOf()}`)
      assert.equal(await card(page, 'Placed', 'Nutmeg').getByRole('button', { name: /note/ }).count(), 0)
    })
    await api('PATCH', `/store/orders/${order.id}`, { status: 'cancelled' })
  })

  browserTest(
    'a delivery and a cancellation can be undone, and are sent when the time for that ends',
    async () => {
      const { id } = await addOrder('Rowan')
      await api('PATCH', `/store/orders/${id}`, { status: 'approved' })
      await visit('orders', async (opened) => {
        const { page } = opened
        const deliver = () =>
          card(page, 'Approved', 'Rowan').getByRole('button', { name: 'Mark as delivered' }).click()
        await card(page, 'Approved', 'Rowan').waitFor()
        await page.clock.install()
        const requests: (string | null)[] = []
        page.on(
          'request',
          (request) => void (request.method() === 'PATCH' && requests.push(request.postData())),
        )
        await deliver()
        // The time stops while the pointer is on the message.
        await page.getByText(`Order ${id} for Rowan delivered.`).hover()
        await card(page, 'Delivered', 'Rowan').waitFor()
        await assertSound(opened)
        await page.getByRole('button', { name: 'Undo' }).click()
        await card(page, 'Approved', 'Rowan').waitFor()
        await page.getByRole('button', { name: `Actions for order ${id}` }).click()
        await page.getByRole('menuitem', { name: 'Cancel order' }).click()
        await page.getByText(`Order ${id} for Rowan cancelled.`).hover()
        await card(page, 'Cancelled', 'Rowan').waitFor()
        await page.keyboard.press('Control+z')
        await card(page, 'Approved', 'Rowan').waitFor()
        await page.clock.fastForward(2 * undoMs)
        assert.deepEqual(requests, [])
        assert.equal(await statusOf(id), 'approved')
        // The time goes on when the screen is left, and the board shows the same when it is opened again.
        await deliver()
        await card(page, 'Delivered', 'Rowan').waitFor()
        await page.getByRole('link', { name: 'Limits' }).click()
        await page.getByText('This day').waitFor()
        await page.getByRole('link', { name: 'Orders' }).click()
        await card(page, 'Delivered', 'Rowan').waitFor()
        assert.equal(await card(page, 'Approved', 'Rowan').count(), 0)
        await page.mouse.move(5, 5)
        await page.clock.fastForward(undoMs)
        await eventually('the delivery', async () => (await statusOf(id)) === 'delivered')
        assert.deepEqual(requests, ['{"status":"delivered"}'])
        await card(page, 'Delivered', 'Rowan').waitFor()
      })
    },
  )

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
        await page.getByText(`Order ${id} for Thyme approved.`).waitFor()
        assert.equal(await page.getByText('The board shows another part of that column.').count(), 0)
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

  browserTest('two people reserve the same animal: the second is told that it was taken', async () => {
    await addPet('Willow')
    // The second one has no event stream, so it does not know yet.
    const { key } = await service.makeKey({
      plan: 'pro',
      scopes: ['pets:read', 'orders:read', 'orders:write'],
    })
    await visit('animals', async ({ page: first }) => {
      const look = async (opened: PageVisit) => {
        const { page: second } = opened
        for (const page of [first, second]) {
          const row = page.getByRole('row').filter({ hasText: 'Willow' })
          await row.getByRole('button', { name: 'Place order' }).click()
          await page.getByLabel('Adopter').fill('Ada Example')
        }
        await first.getByRole('dialog').getByRole('button', { name: 'Place order' }).click()
        await first.getByText(/Order \d+ placed for Willow\./).waitFor()
        await second.getByRole('dialog').getByRole('button', { name: 'Place order' }).click()
        await second.getByText('Someone else reserved this animal first.').waitFor()
        await assertSound(opened)
        await screenshot(second, 'order-conflict')
        await second.getByRole('button', { name: 'Choose another animal' }).click()
        await second.getByRole('button', { name: 'Refresh' }).click()
        await second.getByRole('row').filter({ hasText: 'Willow' }).getByText('Pending').waitFor()
      }
      await visit('animals', look, { key })
    })
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

  browserTest(
    'what one browser moves on moves in another, and an outdated move is explained and taken back',
    async () => {
      const order = await addOrder('Poppy')
      await visit('orders', async ({ page: first }) => {
        await visit('orders', async ({ page: second }) => {
          for (const page of [first, second]) await page.getByText('Live', { exact: true }).waitFor()
          await card(first, 'Placed', 'Poppy').getByRole('button', { name: 'Approve' }).click()
          await card(second, 'Approved', 'Poppy').waitFor()
          const placed = await addOrder('Mango')
          for (const page of [first, second]) await card(page, 'Placed', 'Mango').waitFor()
          // The second one has not seen yet that the first has cancelled it.
          await second.route(`**/v1/store/orders/${placed.id}`, async (route) => {
            if (route.request().method() === 'PATCH')
              await api('PATCH', `/store/orders/${placed.id}`, { status: 'cancelled' })
            await route.continue()
          })
          await card(second, 'Placed', 'Mango').getByRole('button', { name: 'Approve' }).click()
          await second.getByText(/Someone else changed the order for Mango first/).waitFor()
          for (const page of [first, second]) await card(page, 'Cancelled', 'Mango').waitFor()
          await first.clock.install()
          await first.getByRole('button', { name: `Actions for order ${order.id}` }).click()
          await first.getByRole('menuitem', { name: 'Cancel order' }).click()
          await card(first, 'Cancelled', 'Poppy').waitFor()
          await first.clock.fastForward(undoMs)
          await card(second, 'Cancelled', 'Poppy').waitFor()
        })
      })
    },
  )

  browserTest("an adopter's data is erased after a question", async () => {
    const order = await addOrder('Luna', { name: 'Forget Me', email: 'forget@example.com' })
    await visit('orders', async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: `Actions for order ${order.id}` }).click()
      await page.getByRole('menuitem', { name: "Erase adopter's data" }).click()
      await page.getByRole('dialog').waitFor()
      await assertSound(opened)
      await page.getByRole('button', { name: 'Erase', exact: true }).click()
      await page.getByText('Forget Me').waitFor({ state: 'detached' })
      await eventually('the erasure', async () => !(await api('GET', `/store/orders/${order.id}`)).customer)
    })
  })

  browserTest('a name with markup is text', async () => {
    await addOrder(hostile, { name: hostile, email: 'ada@example.com' })
    await visit('orders', async (opened) => {
      const { page } = opened
      await card(page, 'Placed', hostile).first().waitFor()
      assert.equal(await page.locator('img').count(), 0)
      await assertSound(opened)
    })
  })

  for (const [size, options] of Object.entries({ phone, desktop })) {
    browserTest(`is sound on a ${size}`, () =>
      visit(
        'orders',
        async (opened) => {
          const { page } = opened
          await card(page, 'Placed', 'Nutmeg').waitFor()
          await assertSoundInBoth(opened, `orders-${size}`)
          if (size !== 'phone') return
          await page.getByRole('button', { name: /^Cancelled/ }).click()
          await card(page, 'Cancelled', 'Basil').waitFor()
          await screenshot(page, 'orders-cancelled-phone')
        },
        options,
      ),
    )
  }

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
        const place = await order('Approved', ids[last - 1]).boundingBox()
        await click('Load more')
        await order('Approved', ids[last]).waitFor()
        // What was read stays in its place, also when the newest cards are dropped.
        assert.deepEqual(await order('Approved', ids[last - 1]).boundingBox(), place)
      }
      assert.equal(await cards.count(), cardsMax)
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
      assert.equal(await order('Approved', ids[60]).count(), 0)
      assert.equal(await cards.count(), cardsMax - 1)
      await click('Load more')
      await order('Approved', ids[250]).waitFor()
      await click('Load more')
      await order('Approved', ids.at(-1)).waitFor()
      assert.equal(await approved.getByRole('button', { name: 'Load more' }).count(), 0)
      await assertLongColumnFits(page)
      await click('Load newer')
      await order('Approved', ids[100]).waitFor()
      assert.ok((await cards.count()) <= cardsMax)
      await click('Newest')
      await order('Approved', added.id).waitFor()
      assert.equal(await cards.count(), 50)
      assert.equal(await approved.getByRole('button', { name: /newe/i }).count(), 0)
      await waitUntil(page, `document.activeElement.id === 'content'`)
    })
  })
})
