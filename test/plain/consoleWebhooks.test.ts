import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { browserTest, hasBrowser, launchBrowser, type TestBrowser } from '../support/browser.ts'
import {
  addressTrusted,
  assertSound,
  type Console,
  desktop,
  nextAddress,
  openConsole,
  phone,
  screenshot,
} from '../support/console.ts'
import { ensureConsoleBuilt } from '../support/consoleBuild.ts'
import { operatorOf } from '../support/consoleData.ts'
import { startTestService, type TestService } from '../support/service.ts'
import {
  isSignedWith,
  loopbackAllowed,
  type ReceivedMessage,
  registerWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhookReceiver.ts'

let service: TestService
let chromium: TestBrowser
let receiver: WebhookReceiver
before(async () => {
  if (!hasBrowser) return
  ensureConsoleBuilt()
  service = await startTestService({ ...loopbackAllowed, ...addressTrusted }, { startAt: 'now' })
  chromium = await launchBrowser()
  receiver = await startWebhookReceiver()
  await operatorOf(service)('POST', '/categories', { name: 'Dogs' })
})
after(async () => {
  await chromium?.close()
  await receiver?.stop()
  await service?.stop()
})

async function visit(
  path: string,
  run: (opened: Console) => Promise<void>,
  options: NonNullable<Parameters<typeof openConsole>[2]> = {},
) {
  const key = service.operatorKey
  const opened = await openConsole(chromium.browser, service.base, {
    key,
    path: `/console/${path}`,
    ...nextAddress(),
    ...options,
  })
  try {
    await run(opened)
  } finally {
    await opened.close()
  }
}

describe('webhooks', () => {
  for (const [size, viewport] of Object.entries({ phone, desktop })) {
    for (const colorScheme of ['light', 'dark'] as const) {
      browserTest(`are registered and tested on a ${size}, ${colorScheme}`, () =>
        visit(
          'webhooks',
          async (opened) => {
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
            await dialog.getByLabel('Address').fill(`${receiver.url}/${size}-${colorScheme}`)
            await assertSound(opened)
            await screenshot(page, `webhook-register-${size}-${colorScheme}`)
            await dialog.getByRole('button', { name: 'Register' }).click()
            await dialog.getByText('It is shown only once').waitFor()
            await assertSound(opened)
            await screenshot(page, `webhook-secret-${size}-${colorScheme}`)
            const secret = /whsec_[A-Za-z0-9+/=]+/.exec(await dialog.innerText())?.[0] ?? ''
            await dialog.getByRole('button', { name: 'I have saved it' }).click()
            assert.ok(!(await page.content()).includes(secret))
            await page.getByRole('link', { name: `${size}-${colorScheme}` }).click()
            await page.getByText('No deliveries yet').waitFor()
            const before = receiver.received.length
            await page.getByRole('button', { name: 'Send test' }).click()
            await page.getByText('Delivered', { exact: true }).waitFor()
            await page.getByText('1 attempt · Response 204').waitFor()
            const message = receiver.received[before] as ReceivedMessage
            assert.equal(message.type, 'webhook.test')
            assert.ok(isSignedWith(secret, message))
          },
          { ...viewport, colorScheme },
        ),
      )
    }
  }

  browserTest('a failed delivery is shown with its attempts, and sent again', async () => {
    receiver.reply = 500
    // Ahead of the browser's clock, so that the next attempt is in its future too.
    service.advance(Date.now() - service.now() + 15_000)
    const { id } = await registerWebhook(service, receiver.url, ['pet.created'])
    await operatorOf(service)('POST', '/pets', { name: 'Milo', categoryId: 1 })
    await visit(`webhooks/${id}`, async (opened) => {
      const { page } = opened
      await page.getByText('1 attempt · Response 500').waitFor()
      await page.getByText('next attempt in').waitFor()
      await assertSound(opened)
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

  browserTest('are paused and resumed', async () => {
    receiver.reply = 204
    const { id } = await registerWebhook(service, receiver.url, ['category.created'])
    await visit(`webhooks/${id}`, async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByText('Messages are queued').waitFor()
      await assertSound(opened)
      await screenshot(page, 'webhook-paused')
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByText('Messages are queued').waitFor({ state: 'detached' })
    })
  })

  browserTest('one that the service disabled says why, and is enabled again', async () => {
    receiver.reply = 410
    const { id } = await registerWebhook(service, receiver.url, ['pet.deleted'])
    await visit(`webhooks/${id}`, async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: 'Send test' }).click()
      await page.getByText('The service disabled this webhook').waitFor()
      await assertSound(opened)
      await screenshot(page, 'webhook-disabled')
      receiver.reply = 204
      await page.getByRole('button', { name: 'Enable' }).click()
      await page.getByText('Enabled', { exact: true }).waitFor()
    })
  })

  browserTest('are changed, get a new secret, and are deleted', async () => {
    const { id } = await registerWebhook(service, receiver.url, ['pet.created'])
    await visit(`webhooks/${id}`, async (opened) => {
      const { page } = opened
      const dialog = page.getByRole('dialog')
      const choose = async (name: string) => {
        await page.getByRole('button', { name: 'More actions' }).click()
        await page.getByRole('menuitem', { name }).click()
      }
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
      await assertSound(opened)
      await screenshot(page, 'webhook-delete')
      await dialog.getByRole('button', { name: 'Delete webhook' }).click()
      await page.getByRole('heading', { name: 'Webhooks' }).waitFor()
      const { status } = await service.request('GET', `/v1/webhooks/${id}`, { key: service.operatorKey })
      assert.equal(status, 404)
    })
  })
})
