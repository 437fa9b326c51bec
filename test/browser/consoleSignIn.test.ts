import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest, type PageVisit } from '../support/browser.ts'
import { assertKeyHidden, assertSound, recordPublicText, screenshot, signIn } from '../support/console.ts'
import { expectStored } from '../support/consoleKeptKey.ts'
import { expectNone, expectText, expectTexts } from '../support/expectPage.ts'
import { banKey } from '../support/rateLimits.ts'
import { useConsole, type VisitOptions } from '../support/useConsole.ts'

const { api, service, visit } = useConsole()

/** Opens the console in a browser without a session. */
const visitSignIn = (run: (opened: PageVisit) => Promise<void>, options: VisitOptions = {}) =>
  visit('/console', run, { ...options, key: false })

describe('sign-in', () => {
  browserTest('shows what the scopes of the key allow, and nothing else', async () => {
    const { key } = await service.makeKey({ name: 'Reader', scopes: ['pets:read'] })
    await visitSignIn(async ({ page }) => {
      await signIn(page, key)
      await expectTexts(page.getByRole('navigation').getByRole('link'), [
        'Overview',
        'Animals',
        'Store',
        'Limits',
        'Docs',
      ])
      await page.goto(`${service.base}/console/orders`)
      await page.getByRole('heading', { name: 'This key cannot see Orders' }).waitFor()
      await page.getByText('orders:read').waitFor()
      await page.goto(`${service.base}/console/animals`)
      await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
      await expectNone(page.getByRole('button', { name: 'Add animal' }), page.getByText('No animals yet'))
      await page.getByRole('button', { name: 'Sign out' }).click()
      const { key: keyWithoutScopes } = await service.makeKey({ name: 'Nothing', scopes: [] })
      await signIn(page, keyWithoutScopes)
      await expectTexts(page.getByRole('navigation').getByRole('link'), ['Limits', 'Docs'])
    })
  })

  browserTest(
    'shows every screen to an operator, keeps the key out of the document, the URL and the log, and forgets it at sign-out',
    async () => {
      const { operatorKey } = service
      const look = async ({ page }: PageVisit) => {
        const texts = recordPublicText(page)
        await signIn(page, operatorKey)
        await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
        await expectTexts(page.getByRole('navigation').getByRole('link'), [
          'Overview',
          'Animals',
          'Categories',
          'Orders',
          'Store',
          'Webhooks',
          'Keys',
          'Audit log',
          'Limits',
          'Docs',
        ])
        await assertKeyHidden(page, operatorKey)
        await page.reload()
        await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
        await assertKeyHidden(page, operatorKey)
        assert.ok(!service.logLines.join('').includes(operatorKey))
        await page.goto(`${service.base}/docs`)
        await page.getByRole('link', { name: 'Console' }).first().waitFor()
        await assertKeyHidden(page, operatorKey)
        await page.goto(`${service.base}/console/animals`)
        await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
        assert.ok(texts.some((text) => text.includes('/v1/listings')))
        assert.deepEqual(
          texts.filter((text) => text.includes(operatorKey)),
          [],
        )
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.getByLabel('API key').waitFor()
        await expectStored(page, {})
        await page.reload()
        await page.getByLabel('API key').waitFor()
      }
      await visit('animals', look, { key: false })
    },
  )

  /** The browser shows a limit only until its window ends, and the clock of the service stands still. */
  const makeSmallKey = () => {
    service.advance(Date.now() - service.now())
    return service.makeKey({ plan: 'enterprise', limits: { perMinute: 1 } })
  }
  const otherEnvironment = 'ps_test_000000000000000000000000000000000000'
  const refusals: [title: string, key: () => Promise<string>, message: RegExp][] = [
    ['an empty field', async () => ' ', /Enter your API key/],
    ['text that is no key', async () => 'clé secrète', /This is not an API key/],
    ['text that is too long for a key', async () => 'x'.repeat(20_000), /This is not an API key/],
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
        await api('DELETE', `/keys/${id}`)
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
        const { key } = await makeSmallKey()
        await service.request('GET', '/v1/pets', { key })
        return key
      },
      /used all 1 requests of its minute[\s\S]*Try again in/,
    ],
    [
      'a banned key',
      async () => {
        const { key } = await makeSmallKey()
        await banKey(service, key)
        return key
      },
      /banned for a short time[\s\S]*Try again in/,
    ],
  ]
  browserTest('says what is wrong with a key that it refuses', (t) =>
    visitSignIn(async (opened) => {
      const { page } = opened
      for (const [title, makeKey, message] of refusals) {
        await t.test(title, async () => {
          await page.getByLabel('API key').fill(await makeKey())
          await page.getByRole('button', { name: 'Sign in' }).click()
          await expectText(page.locator('form'), message)
          await assertSound(opened)
          await screenshot(page, `sign-in-refused-${title.replaceAll(' ', '-')}`)
          await expectStored(page, {})
        })
      }
    }),
  )

  browserTest('a key that is revoked during the session ends it, and says why', async () => {
    const { id, key } = await service.makeKey({ name: 'Short' })
    const look = async ({ page }: PageVisit) => {
      await page.getByText('No animals yet').waitFor()
      await api('DELETE', `/keys/${id}`)
      await page.getByRole('button', { name: 'Refresh' }).click()
      await page.getByText('has been revoked').waitFor()
      await page.getByLabel('API key').waitFor()
    }
    await visit('animals', look, { key })
  })
})
