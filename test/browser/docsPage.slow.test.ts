import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest, launchBrowser, observe, openPage, type PageVisit } from '../support/browser.ts'
import {
  assertFits,
  assertKeyHidden,
  assertSoundInBoth,
  desktop,
  phone,
  screenshot,
  signIn,
  waitUntil,
} from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { expectNone, expectText, expectTexts } from '../support/expectPage.ts'
import { startTestService } from '../support/service.ts'
import { useConsole } from '../support/useConsole.ts'

const docs = useConsole()
const { service, visit } = docs

for (const [size, options] of Object.entries({ phone, desktop })) {
  describe(`on a ${size}`, () => {
    browserTest('the pages are sound and lead to each other', (t) =>
      visit(
        '/',
        async (opened) => {
          const { page } = opened
          await t.test('the home page leads to everything', async () => {
            await page.getByRole('heading', { name: 'Petstore', level: 1 }).waitFor()
            await assertSoundInBoth(opened, `page-home-${size}`)
            await page.waitForLoadState()
            const targets = await page.evaluate<string[]>(
              `[...document.links].map((link) => link.getAttribute('href'))`,
            )
            const needed = ['/console', '/docs', '/guides', '/v1/openapi.json', '/v1/openapi.yaml']
            for (const path of [...needed, '/guides/keys']) assert.ok(targets.includes(path), path)
            for (const path of new Set(targets)) {
              if (path.startsWith('/')) assert.equal((await service.request('GET', path)).status, 200, path)
            }
          })
          await t.test('the list of guides leads to a guide', async () => {
            await page.getByRole('link', { name: 'Guides' }).first().click()
            await page.getByRole('heading', { name: 'Guides', level: 1 }).waitFor()
            await assertSoundInBoth(opened, `page-guides-${size}`)
            await page.getByRole('link', { name: /^Errors/ }).click()
            await page.getByRole('heading', { name: 'Errors', level: 1 }).waitFor()
            await expectText(page.locator('table').first(), /pet_not_found/)
            await assertSoundInBoth(opened, `page-guide-${size}`)
          })
          await t.test('the reference shows the operations, and has a way back', async () => {
            await page.getByRole('link', { name: 'Reference' }).first().click()
            await page.getByRole('heading', { name: 'List animals' }).first().waitFor()
            // Further down, the reference renders an operation when it is scrolled into view; its menu has all of them.
            for (const name of ['Add an animal', 'Get an animal', 'Remove an animal', 'Limits', 'Keys'])
              await page.getByText(name).first().waitFor({ state: 'attached' })
            await waitUntil(page, `document.title === 'API reference - Petstore'`)
            await assertSoundInBoth(opened, `docs-${size}`)
            await page.getByRole('link', { name: 'Console' }).first().click()
            await page.getByLabel('API key').waitFor()
          })
        },
        { ...options, key: false },
      ),
    )
  })
}

browserTest('a staging deployment is unmistakable on every page', async () => {
  const staging = await startTestService({ PETSTORE_ENV: 'staging' }, { startAt: 'now' })
  const look = async (opened: PageVisit) => {
    const { page } = opened
    for (const path of ['/', '/guides', '/guides/keys', '/docs']) {
      await page.goto(staging.base + path)
      await page.getByText('Staging', { exact: true }).waitFor()
      await waitUntil(page, `document.title.startsWith('Staging: ')`)
      await assertFits(page)
      if (path === '/') await assertSoundInBoth(opened, 'page-staging')
    }
    await page.getByRole('heading', { name: 'List animals' }).first().waitFor()
    await screenshot(page, 'docs-staging')
  }
  await visit('/healthz', look, { ...phone, service: staging, key: false }).finally(() => staging.stop())
})

describe('the reference', () => {
  /** Sends the request of the first operation and returns the Authorization header that it had. */
  async function tryIt({ page }: PageVisit): Promise<string | null> {
    const test = page.getByRole('button', { name: /Test Request/ }).first()
    await test.click()
    const send = page.getByRole('dialog').getByRole('button', { name: /Send/ }).first()
    await send.waitFor()
    const request = page.waitForRequest((sent) => sent.url().startsWith(`${service.base}/v1/`))
    await send.click()
    const sent = await request
    await sent.response()
    return sent.headerValue('authorization')
  }

  const marker = /^(?:stable|beta|experimental)$/
  for (const [size, options] of Object.entries({ phone, desktop }))
    for (const [path, name, stability] of [
      ['events/GET/events', 'Follow changes', 'experimental'],
      ['pets/GET/pets/{petId}/profile', 'Get the profile of an animal', 'beta'],
      ['pets/GET/pets', 'List animals', undefined],
    ] as const)
      browserTest(`says that "${name}" is ${stability ?? 'stable, by no mark'}, on a ${size}`, () =>
        visit(
          `/docs#tag/${path}`,
          async ({ page }) => {
            const operation = page.getByRole('region', { name, exact: true })
            const marks = operation.getByText(marker)
            if (stability) await expectTexts(marks, [stability])
            else await expectNone(marks, operation.getByRole('heading', { name, exact: true }))
            await screenshot(page, `docs-${stability ?? 'stable'}-${size}`)
          },
          { ...options, key: false },
        ),
      )

  browserTest(
    'sends requests with the key of the session, which is nowhere in the page, and no key after sign-out',
    () =>
      visit('overview', async (opened) => {
        const { page } = opened
        const { operatorKey } = service
        await page.getByRole('link', { name: 'Docs' }).click()
        await page.getByRole('heading', { name: 'List animals' }).first().waitFor()
        assert.equal(await tryIt(opened), `Bearer ${operatorKey}`)
        await page.getByRole('dialog').getByText('200').first().waitFor()
        await page.getByRole('dialog').getByText('Request Headers').click()
        await screenshot(page, 'docs-try-it')
        await assertKeyHidden(page, operatorKey)
        const stored = await page.evaluate<string>('JSON.stringify({ ...localStorage }) + document.cookie')
        assert.ok(!stored.includes(operatorKey), 'The key is stored.')
        await waitUntil(page, 'indexedDB.databases().then((all) => all.length === 0)')
        assert.ok(!service.logLines.join('').includes(operatorKey))
        // A page that the browser has kept in memory until after the sign-out.
        await page.keyboard.press('Escape')
        await page.evaluate('sessionStorage.clear()')
        assert.ok(!String(await tryIt(opened)).includes(operatorKey))
        await page.goBack()
        await page.locator('main.content').waitFor()
      }),
  )

  browserTest(
    'sends requests with the key that the device keeps, until someone signs out or it expires',
    () =>
      visit(
        '/console/limits',
        async ({ page: consolePage }) => {
          const { key } = await service.makeKey({ name: 'Front desk', scopes: ['pets:read'] })
          await consolePage.getByLabel('Keep me signed in on this device').check()
          await signIn(consolePage, key)
          const opened = await observe(await consolePage.context().newPage(), service.base)
          const { page } = opened
          await page.goto(`${service.base}/docs`)
          await page.getByRole('heading', { name: 'List animals' }).first().waitFor()
          assert.equal(await tryIt(opened), `Bearer ${key}`)
          await page.keyboard.press('Escape')
          // By the clock of the device, as in the console.
          await page.evaluate(`Date.now = () => ${Date.now() + 31 * 24 * 60 * 60_000}`)
          assert.ok(!String(await tryIt(opened)).includes(key))
          await page.keyboard.press('Escape')
          await page.evaluate(`localStorage.setItem('petstore.keptKeyUsedAt', '0')`)
          assert.ok(!String(await tryIt(opened)).includes(key))
          await page.keyboard.press('Escape')
          await consolePage.getByLabel('API key').waitFor()
          assert.ok(!String(await tryIt(opened)).includes(key))
        },
        { ...desktop, key: false },
      ),
  )

  browserTest('to which the browser goes back after sign-out sends no key', async () => {
    const chromium = await launchBrowser({ ignoreDefaultArgs: ['--disable-back-forward-cache'] })
    try {
      const opened = await openPage(chromium.browser, service.base, desktop)
      const { page } = opened
      await page.goto(`${service.base}/console/limits`)
      await signIn(page, service.operatorKey)
      await page.getByRole('link', { name: 'Docs' }).click()
      await page.getByRole('heading', { name: 'List animals' }).first().waitFor()
      await page.getByRole('link', { name: 'Console' }).first().click()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByLabel('API key').waitFor()
      await page.goBack({ waitUntil: 'commit' })
      await page.getByRole('heading', { name: 'List animals' }).first().waitFor()
      await assertKeyHidden(page, service.operatorKey)
      assert.ok(!String(await tryIt(opened)).includes(service.operatorKey))
    } finally {
      await chromium.close()
    }
  })
})

browserTest('a request to elsewhere, a broken policy and an error would be noticed', async () => {
  const { page, strayRequests, consoleErrors, policyViolations } = await openPage(docs.browser, service.base)
  await page.goto(service.base)
  await page.evaluate(
    `document.body.append(Object.assign(new Image(), { src: 'https://example.com/x.png' }))`,
  )
  await waitUntil(page, 'globalThis.policyViolations.length > 0')
  assert.deepEqual(await policyViolations(), ['img-src https://example.com/x.png'])
  await eventually('the error', () => consoleErrors.length > 0)
  await page.goto('https://example.com/').catch(() => {})
  await eventually('the request', () => strayRequests.includes('https://example.com/'))
  await page.context().close()
})
