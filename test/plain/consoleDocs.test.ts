import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { browserTest, hasBrowser, launchBrowser, type TestBrowser } from '../support/browser.ts'
import { desktop, openConsole, phone, screenshot } from '../support/console.ts'
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

describe('the reference', () => {
  for (const [size, viewport] of Object.entries({ phone, desktop })) {
    for (const colorScheme of ['light', 'dark'] as const) {
      browserTest(`looks like the console, with a way back, on a ${size}, ${colorScheme}`, async () => {
        const { page, close } = await openConsole(chromium.browser, service.base, {
          ...viewport,
          colorScheme,
          path: '/docs',
        })
        await page.getByRole('heading', { name: 'List animals' }).first().waitFor()
        await screenshot(page, `docs-${size}-${colorScheme}`)
        for (const path of ['/', '/guides', '/guides/keys']) {
          await page.goto(service.base + path)
          await page.locator('h1').waitFor()
          await screenshot(page, `page${path.replaceAll('/', '-')}-${size}-${colorScheme}`)
        }
        await page.getByRole('link', { name: 'Console' }).first().click()
        await page.getByLabel('API key').waitFor()
        await close()
      })
    }
  }

  browserTest('sends requests with the key of the session, and stores it nowhere', async () => {
    const { operatorKey } = service
    const opened = await openConsole(chromium.browser, service.base, { key: operatorKey })
    const { page } = opened
    await page.getByRole('link', { name: 'Docs' }).click()
    await page.getByRole('heading', { name: 'List animals' }).first().waitFor()
    await page
      .getByRole('button', { name: /Test Request/ })
      .first()
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: /Send/ }).first().waitFor()
    const request = page.waitForRequest((sent) => sent.url().startsWith(`${service.base}/v1/`))
    await dialog.getByRole('button', { name: /Send/ }).first().click()
    const sent = await request
    assert.equal(await sent.headerValue('authorization'), `Bearer ${operatorKey}`)
    assert.equal((await sent.response())?.status(), 200)
    await screenshot(page, 'docs-try-it')
    assert.ok(!page.url().includes(operatorKey))
    const stored = await page.evaluate<string>('JSON.stringify({ ...localStorage }) + document.cookie')
    assert.ok(!stored.includes(operatorKey), 'The key is stored.')
    assert.deepEqual(await page.evaluate('indexedDB.databases().then((all) => all.length)'), 0)
    assert.ok(!service.logLines.join('').includes(operatorKey))
    await page.goBack()
    await page.locator('main.content').waitFor()
    await opened.close()
  })
})
