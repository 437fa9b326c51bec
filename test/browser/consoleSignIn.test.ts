import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest, type PageVisit } from '../support/browser.ts'
import {
  assertKeyHidden,
  assertSound,
  assertSoundInBoth,
  desktop,
  phone,
  recordPublicText,
  screenshot,
  signIn,
} from '../support/console.ts'
import { startTestService } from '../support/service.ts'
import { useConsole, type VisitOptions } from '../support/useConsole.ts'

const { api, service, visit } = useConsole()

/** Opens the console in a browser without a session. */
const visitSignIn = (run: (opened: PageVisit) => Promise<void>, options: VisitOptions = {}) =>
  visit('/console', run, { ...options, key: false })

describe('sign-in', () => {
  for (const [size, options] of Object.entries({ phone, desktop })) {
    browserTest(`is sound on a ${size}`, () =>
      visitSignIn(async (opened) => {
        await opened.page.getByRole('heading', { name: 'Sign in' }).waitFor()
        await assertSoundInBoth(opened, `sign-in-${size}`)
      }, options),
    )
  }

  browserTest('shows what the scopes of the key allow, and nothing else', async () => {
    const { key } = await service.makeKey({ name: 'Reader', scopes: ['pets:read'] })
    await visitSignIn(async ({ page }) => {
      await signIn(page, key)
      const links = await page.getByRole('navigation').getByRole('link').allTextContents()
      assert.deepEqual(links, ['Overview', 'Animals', 'Limits', 'Docs'])
      await page.goto(`${service.base}/console/orders`)
      await page.getByRole('heading', { name: 'This key cannot see Orders' }).waitFor()
      await page.getByText('orders:read').waitFor()
      await page.goto(`${service.base}/console/animals`)
      await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Add animal' }).count(), 0)
      await page.getByRole('button', { name: 'Sign out' }).click()
      const { key: keyWithoutScopes } = await service.makeKey({ name: 'Nothing', scopes: [] })
      await signIn(page, keyWithoutScopes)
      assert.deepEqual(await page.getByRole('navigation').getByRole('link').allTextContents(), [
        'Limits',
        'Docs',
      ])
    })
  })

  browserTest('an operator sees every screen', () =>
    visitSignIn(async ({ page }) => {
      await signIn(page, service.operatorKey)
      const links = await page.getByRole('navigation').getByRole('link').allTextContents()
      assert.deepEqual(links, [
        'Overview',
        'Animals',
        'Categories',
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
      const look = async ({ page }: PageVisit) => {
        const texts = recordPublicText(page)
        await signIn(page, operatorKey)
        await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
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
        assert.ok(texts.some((text) => text.includes('/v1/pets')))
        assert.deepEqual(
          texts.filter((text) => text.includes(operatorKey)),
          [],
        )
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.getByLabel('API key').waitFor()
        assert.equal(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })'), '{}')
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
        for (let i = 0; i < 200; i++) {
          const { json } = await service.request('GET', '/v1/pets', { key })
          if (json.code === 'key_banned') return key
        }
        throw new Error('The key was not banned.')
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
          const start = new RegExp(message.source.split('[')[0] ?? '')
          await page.getByText(start).first().waitFor()
          assert.match(await page.locator('form').innerText(), message)
          await assertSound(opened)
          await screenshot(page, `sign-in-refused-${title.replaceAll(' ', '-')}`)
          assert.equal(await page.evaluate('sessionStorage.length'), 0)
        })
      }
    }),
  )

  browserTest('says that the service cannot be reached', () =>
    visitSignIn(async ({ page }) => {
      await page.context().setOffline(true)
      await page.getByLabel('API key').fill(service.operatorKey)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('No connection').waitFor()
      await page.context().setOffline(false)
      await signIn(page, service.operatorKey)
    }, desktop),
  )

  browserTest(
    'a page that is loaded again while the API does not respond keeps the key and tries again',
    () =>
      visit('animals', async (opened) => {
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
    const look = async ({ page }: PageVisit) => {
      await page.getByText('No animals yet').waitFor()
      await api('DELETE', `/keys/${id}`)
      await page.getByRole('button', { name: 'Refresh' }).click()
      await page.getByText('has been revoked').waitFor()
      await page.getByLabel('API key').waitFor()
    }
    await visit('animals', look, { key })
  })

  browserTest('a staging deployment is unmistakable before and after sign-in', async () => {
    const staging = await startTestService({ PETSTORE_ENV: 'staging' }, { startAt: 'now' })
    const look = async (opened: PageVisit) => {
      const { page } = opened
      await page.getByText('Staging', { exact: true }).waitFor()
      assert.match(await page.title(), /^Staging: /)
      const colours = await page.evaluate<string[]>(
        `[document.querySelector('.environment-banner'), document.body].map((element) => getComputedStyle(element).backgroundColor)`,
      )
      assert.notEqual(colours[0], colours[1])
      await assertSound(opened)
      await screenshot(page, 'sign-in-staging')
      await signIn(page, staging.operatorKey)
      await page.getByText('Staging', { exact: true }).waitFor()
      await page.goto(`${staging.base}/console/animals`)
      await page.getByText('No animals yet').waitFor()
      assert.match(await page.title(), /^Staging: /)
      await assertSound(opened)
      await screenshot(page, 'animals-staging')
    }
    await visitSignIn(look, { service: staging }).finally(() => staging.stop())
  })
})
