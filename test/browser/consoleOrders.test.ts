import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest, type PageVisit } from '../support/browser.ts'
import { assertSound, hostile, screenshot } from '../support/console.ts'
import { card, ordersOf } from '../support/consoleOrders.ts'
import { eventually } from '../support/eventually.ts'
import { expectNone } from '../support/expectPage.ts'
import { startTestService } from '../support/service.ts'
import { useConsole } from '../support/useConsole.ts'

const undoMs = 6_000

const test = useConsole({}, async ({ api }) => {
  await api('POST', '/categories', { name: 'Dogs' })
})
const { api, service, visit } = test
const { addOrder, addPet, statusOf } = ordersOf(test)

describe('orders', () => {
  browserTest('the first adoption, from an empty store to the delivered order', async () => {
    const empty = await startTestService({}, { startAt: 'now' })
    const adopt = async (opened: PageVisit) => {
      const { page } = opened
      await page.getByRole('link', { name: 'Orders' }).click()
      await page.getByText('No orders yet').waitFor()
      await page.getByRole('link', { name: 'Animals', exact: true }).click()
      await page.getByRole('button', { name: 'Add the first animal' }).waitFor()
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
        await expectNone(card(page, 'Approved', 'Rowan'), card(page, 'Delivered', 'Rowan'))
        await page.mouse.move(5, 5)
        await page.clock.fastForward(undoMs)
        await eventually('the delivery', async () => (await statusOf(id)) === 'delivered')
        assert.deepEqual(requests, ['{"status":"delivered"}'])
        await card(page, 'Delivered', 'Rowan').waitFor()
      })
    },
  )

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
        await second.getByText('A colleague was faster').waitFor()
        await screenshot(second, 'order-conflict')
        await second.getByRole('button', { name: 'Choose another animal' }).click()
        await second.getByRole('button', { name: 'Refresh' }).click()
        await second.getByRole('row').filter({ hasText: 'Willow' }).getByText('Pending').waitFor()
      }
      await visit('animals', look, { key })
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
      await page.getByRole('button', { name: 'Erase', exact: true }).click()
      await page.getByText('Forget Me').waitFor({ state: 'detached' })
      await eventually('the erasure', async () => !(await api('GET', `/store/orders/${order.id}`)).customer)
    })
  })

  browserTest('a name with markup is text', async () => {
    await addOrder(hostile, { name: hostile, email: 'ada@example.com' })
    await visit('orders', async (opened) => {
      const { page } = opened
      await expectNone(page.locator('img'), card(page, 'Placed', hostile).first())
      await assertSound(opened)
    })
  })
})
