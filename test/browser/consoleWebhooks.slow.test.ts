import { after, describe } from 'node:test'
import { browserTest } from '../support/browser.ts'
import { assertSoundInBoth } from '../support/console.ts'
import { useConsole } from '../support/useConsole.ts'
import {
  loopbackAllowed,
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
