import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { browserTest, hasBrowser, launchBrowser, type TestBrowser } from '../support/browser.ts'
import {
  assertKeyHidden,
  assertSound,
  desktop,
  openConsole,
  phone,
  screenshot,
  signIn,
} from '../support/console.ts'
import { ensureConsoleBuilt } from '../support/consoleBuild.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let chromium: TestBrowser
before(async () => {
  if (!hasBrowser) return
  ensureConsoleBuilt()
  service = await startTestService({}, { startAt: 'now' })
  chromium = await launchBrowser()
})
after(async () => {
  await chromium?.close()
  await service?.stop()
})

const open = (options: Parameters<typeof openConsole>[2] = {}) =>
  openConsole(chromium.browser, service.base, options)
type Opened = Awaited<ReturnType<typeof open>>

async function withConsole(
  options: Parameters<typeof openConsole>[2],
  run: (opened: Opened) => Promise<void>,
) {
  const opened = await open(options)
  try {
    await run(opened)
  } finally {
    await opened.close()
  }
}

describe('sign-in', () => {
  for (const [size, viewport] of Object.entries({ phone, desktop })) {
    for (const colorScheme of ['light', 'dark'] as const) {
      browserTest(`is sound on a ${size}, ${colorScheme}`, () =>
        withConsole({ ...viewport, colorScheme }, async (opened) => {
          const { page } = opened
          await page.getByRole('heading', { name: 'Sign in' }).waitFor()
          await assertSound(opened)
          await screenshot(page, `sign-in-${size}-${colorScheme}`)
        }),
      )
    }
  }

  browserTest('shows what the scopes of the key allow, and nothing else', async () => {
    const { key } = await service.makeKey({ name: 'Reader', scopes: ['pets:read'] })
    await withConsole({ key }, async ({ page }) => {
      const links = await page.getByRole('navigation').getByRole('link').allTextContents()
      assert.deepEqual(links, ['Overview', 'Animals', 'Limits', 'Docs'])
      await page.goto(`${service.base}/console/orders`)
      await page.getByRole('heading', { name: 'This key cannot see Orders' }).waitFor()
      await page.getByText('orders:read').waitFor()
      await page.goto(`${service.base}/console/animals`)
      await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Add animal' }).count(), 0)
    })
  })

  browserTest('an operator sees every screen', () =>
    withConsole({ key: service.operatorKey }, async ({ page }) => {
      const links = await page.getByRole('navigation').getByRole('link').allTextContents()
      assert.deepEqual(links, [
        'Overview',
        'Animals',
        'Orders',
        'Webhooks',
        'Keys',
        'Audit log',
        'Limits',
        'Docs',
      ])
    }),
  )

  browserTest(
    'keeps the key out of the document, the URL and the log, and forgets it at sign-out',
    async () => {
      const { operatorKey } = service
      await withConsole({ key: operatorKey, path: '/console/animals' }, async ({ page }) => {
        await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
        await assertKeyHidden(page, operatorKey)
        await page.reload()
        await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
        await assertKeyHidden(page, operatorKey)
        assert.ok(!service.logLines.join('').includes(operatorKey))
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.getByLabel('API key').waitFor()
        assert.equal(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })'), '{}')
        await page.reload()
        await page.getByLabel('API key').waitFor()
      })
    },
  )

  const otherEnvironment = 'ps_test_000000000000000000000000000000000000'
  const refusals: [title: string, key: () => Promise<string>, message: RegExp][] = [
    ['an empty field', async () => ' ', /Enter your API key/],
    ['text that is no key', async () => 'clé secrète', /This is not an API key/],
    ['an unknown key', async () => 'ps_live_nothing', /This API key is not valid/],
    [
      'a key of the other environment',
      async () => otherEnvironment,
      /This is a key of the staging environment, and this is production/,
    ],
    [
      'a revoked key',
      async () => {
        const { id, key } = await service.makeKey()
        await service.request('DELETE', `/v1/keys/${id}`, { key: service.operatorKey })
        return key
      },
      /has been revoked/,
    ],
    [
      'a publishable key',
      async () => (await service.makeKey({ origins: ['https://shop.example'] })).key,
      /This is a publishable key/,
    ],
    [
      'a key that has used its minute',
      async () => {
        const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
        await service.request('GET', '/v1/pets', { key })
        return key
      },
      /used all 1 requests of its minute[\s\S]*Try again in/,
    ],
    [
      'a banned key',
      async () => {
        const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
        for (let i = 0; i < 200; i++) {
          const { json } = await service.request('GET', '/v1/pets', { key })
          if (json.code === 'key_banned') return key
        }
        throw new Error('The key was not banned.')
      },
      /banned for a short time[\s\S]*Try again in/,
    ],
  ]
  for (const [title, makeKey, message] of refusals) {
    browserTest(`says what is wrong with ${title}`, async () => {
      const key = await makeKey()
      await withConsole({}, async (opened) => {
        const { page } = opened
        await page.getByLabel('API key').fill(key)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page
          .getByText(message instanceof RegExp ? new RegExp(message.source.split('[')[0] ?? '') : message)
          .first()
          .waitFor()
        assert.match(await page.locator('form').innerText(), message)
        await assertSound(opened)
        await screenshot(page, `sign-in-refused-${title.replaceAll(' ', '-')}`)
        assert.equal(await page.evaluate('sessionStorage.length'), 0)
      })
    })
  }

  browserTest('says that the service cannot be reached', () =>
    withConsole({}, async ({ page }) => {
      await page.context().setOffline(true)
      await page.getByLabel('API key').fill(service.operatorKey)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('No connection').waitFor()
      await page.context().setOffline(false)
      await signIn(page, service.operatorKey)
    }),
  )

  browserTest(
    'a page that is loaded again while the API does not respond keeps the key and tries again',
    () =>
      withConsole({ key: service.operatorKey, path: '/console/animals' }, async (opened) => {
        const { page } = opened
        await page.getByText('No animals yet').waitFor()
        await page.route('**/v1/limits', (route) => route.abort())
        await page.reload()
        await page.getByText('The service cannot be reached').waitFor()
        await assertSound(opened)
        await screenshot(page, 'restore-offline')
        await page.unroute('**/v1/limits')
        await page.getByRole('button', { name: 'Try again' }).click()
        await page.getByText('No animals yet').waitFor()
      }),
  )

  browserTest('a key that is revoked during the session ends it, and says why', async () => {
    const { id, key } = await service.makeKey({ name: 'Short' })
    await withConsole({ key, path: '/console/animals' }, async ({ page }) => {
      await page.getByText('No animals yet').waitFor()
      await service.request('DELETE', `/v1/keys/${id}`, { key: service.operatorKey })
      await page.getByRole('button', { name: 'Refresh' }).click()
      await page.getByText('has been revoked').waitFor()
      await page.getByLabel('API key').waitFor()
    })
  })

  browserTest('a staging deployment is unmistakable before and after sign-in', async () => {
    const staging = await startTestService({ PETSTORE_ENV: 'staging' }, { startAt: 'now' })
    const opened = await openConsole(chromium.browser, staging.base)
    try {
      const { page } = opened
      await page.getByText('Staging', { exact: true }).waitFor()
      assert.match(await page.title(), /^Staging: /)
      await assertSound(opened)
      await screenshot(page, 'sign-in-staging')
      await signIn(page, staging.operatorKey)
      await page.getByText('Staging', { exact: true }).waitFor()
      await page.goto(`${staging.base}/console/animals`)
      await page.getByText('No animals yet').waitFor()
      assert.match(await page.title(), /^Staging: /)
      await assertSound(opened)
      await screenshot(page, 'animals-staging')
    } finally {
      await opened.close()
      await staging.stop()
    }
  })
})
