import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import { browserTest } from '../support/browser.ts'
import { assertSilentSignOut, assertSound, assertSoundInBoth } from '../support/console.ts'
import { textMatching } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'
import {
  isSignedWith,
  loopbackAllowed,
  type ReceivedMessage,
  registerWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhookReceiver.ts'

let receiver: WebhookReceiver
const { api, service, visit } = useConsole(loopbackAllowed, async ({ api }) => {
  receiver = await startWebhookReceiver()
  await api('POST', '/categories', { name: 'Dogs' })
})
after(() => receiver?.stop())
const register = (types: string[]) => registerWebhook(service, receiver.url, types)

/** How often the deliveries are loaded again, with the time to notice it. */
const deliveriesPollMs = 12_000

describe('webhooks', () => {
  browserTest('are registered and tested', () =>
    visit('webhooks', async (opened) => {
      const { page } = opened
      receiver.reply = 204
      await page.getByRole('button', { name: 'Register webhook' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Register' }).click()
      await dialog.getByText('Choose at least one event.').waitFor()
      await dialog.getByLabel('Address').fill('http://example.com/hook')
      await dialog.getByLabel('pet.created').check()
      await dialog.getByRole('button', { name: 'Register' }).click()
      await dialog.getByText('Must be an https address').waitFor()
      await dialog.getByLabel('Address').fill(`${receiver.url}/new`)
      await dialog.getByRole('button', { name: 'Register' }).click()
      await dialog.getByText('It is shown only once').waitFor()
      const secret = await textMatching(dialog, /whsec_[A-Za-z0-9+/=]+/)
      await dialog.getByRole('button', { name: 'I have saved it' }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.ok(!(await page.content()).includes(secret))
      await page.getByRole('link', { name: '/new' }).click()
      await page.getByText('No deliveries yet').waitFor()
      const before = receiver.received.length
      await page.getByRole('button', { name: 'Send test' }).click()
      await page.getByText('Delivered', { exact: true }).waitFor()
      await page.getByText('1 attempt · Response 204').waitFor()
      const message = receiver.received[before] as ReceivedMessage
      assert.equal(message.type, 'webhook.test')
      assert.ok(isSignedWith(secret, message))
      await assertSound(opened)
    }),
  )

  browserTest('signing out during an action shows no error for it', async () => {
    const { id } = await register(['pet.created'])
    await visit(`webhooks/${id}`, ({ page }) =>
      assertSilentSignOut(page, '**/v1/webhooks/*', () =>
        page.getByRole('button', { name: 'Pause' }).click(),
      ),
    )
  })

  browserTest('a failed delivery is shown with its attempts, and sent again', async () => {
    receiver.reply = 500
    // Ahead of the browser's clock, so that the next attempt is in its future too.
    service.advance(Date.now() - service.now() + 15_000)
    const { id } = await register(['pet.created'])
    await api('POST', '/pets', { name: 'Milo', categoryId: 1 })
    await visit(`webhooks/${id}`, async (opened) => {
      const { page } = opened
      await page.getByText('1 attempt · Response 500').waitFor()
      await page.getByText('next attempt in').waitFor()
      receiver.reply = 204
      const attempts = receiver.received.length
      service.advance(10_000)
      await receiver.until(attempts + 1)
      await page.getByRole('button', { name: 'Refresh deliveries' }).click()
      await page.getByText('Delivered', { exact: true }).waitFor()
      await page.getByText('2 attempts · Response 204').waitFor()
      const sent = receiver.received.length
      await page.getByRole('button', { name: /^Retry delivery/ }).click()
      await receiver.until(sent + 1)
      await page.getByText('Delivered', { exact: true }).waitFor()
    })
  })

  browserTest('are paused and resumed, changed, get a new secret, and are deleted', async () => {
    const { id } = await register(['pet.created'])
    await visit(`webhooks/${id}`, async (opened) => {
      const { page } = opened
      const dialog = page.getByRole('dialog')
      const choose = async (name: string) => {
        await page.getByRole('button', { name: 'More actions' }).click()
        await page.getByRole('menuitem', { name }).click()
      }
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByText('Messages are queued').waitFor()
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByText('Messages are queued').waitFor({ state: 'detached' })
      await choose('Edit')
      await dialog.getByLabel('order.placed').check()
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.locator('.facts').getByText('order.placed').waitFor()
      await choose('Rotate signing secret')
      await dialog.getByRole('button', { name: 'Rotate secret' }).click()
      await dialog.getByText('whsec_').waitFor()
      await dialog.getByRole('button', { name: 'I have saved it' }).click()
      await choose('Delete')
      await dialog.getByText('This cannot be undone').waitFor()
      await dialog.getByRole('button', { name: 'Delete webhook' }).click()
      await page.getByRole('heading', { name: 'Webhooks' }).waitFor()
      const rest: { id: number }[] = await api('GET', '/webhooks')
      assert.ok(!rest.some((webhook) => webhook.id === id))
    })
  })

  browserTest(
    'deliveries appear while their screen is open, and the status of the webhook with them',
    async () => {
      receiver.reply = 204
      const { id } = await register(['category.deleted'])
      await visit(`webhooks/${id}`, async ({ page }) => {
        await page.clock.install()
        await page.reload()
        await page.getByText('No deliveries yet').waitFor()
        const remove = async () => {
          const { id: categoryId } = await api('POST', '/categories', { name: 'Short' })
          const sent = receiver.received.length
          await api('DELETE', `/categories/${categoryId}`)
          await receiver.until(sent + 1)
        }
        await remove()
        await page.clock.fastForward(deliveriesPollMs)
        await page.getByText('Response 204').waitFor()
        receiver.reply = 410
        await remove()
        await page.clock.fastForward(deliveriesPollMs)
        await page.getByText('Response 410').waitFor()
        await page.clock.fastForward(deliveriesPollMs)
        await page.getByText('The service disabled this webhook').waitFor()
      })
    },
  )

  browserTest('one that the service disabled says why, and is enabled again', async () => {
    receiver.reply = 410
    const { id } = await register(['pet.deleted'])
    await visit(`webhooks/${id}`, async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: 'Send test' }).click()
      await page.getByText('The service disabled this webhook').waitFor()
      await assertSoundInBoth(opened, 'webhook-disabled')
      receiver.reply = 204
      await page.getByRole('button', { name: 'Enable' }).click()
      await page.getByText('Enabled', { exact: true }).waitFor()
    })
  })
})
