import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { after, before, describe, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page, Route } from 'playwright-core'
import { Webhook } from 'standardwebhooks'
import type { Limits } from '../../client/src/index.ts'
import { browserTest, hasBrowser, type TestBrowser, useBrowser } from '../support/browser.ts'
import { packClient } from '../support/clientPackage.ts'
import { assertAccessible, desktop, phone, screenshot } from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { clientOf } from '../support/petstoreClient.ts'
import { useService } from '../support/useService.ts'

const folder = fileURLToPath(new URL('../../examples/adoption-page/', import.meta.url))
const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }
const service = useService()

let chromium: TestBrowser
let origin: string
let apiKey: string
const site = createServer((request, response) => {
  if (request.url?.startsWith('/moved/')) return response.writeHead(302, { Location: '/' }).end()
  const path = request.url === '/' ? '/index.html' : (request.url ?? '')
  response.writeHead(200, { 'Content-Type': `${types[extname(path)]}; charset=utf-8` })
  if (path === '/petstore-client.min.js')
    return response.end(readFileSync(join(packClient().folder, 'node_modules/petstore-client/dist', path)))
  const text = readFileSync(join(folder, path), 'utf8')
  response.end(text.replace('http://127.0.0.1:8080', service.base).replace('ps_live_...', apiKey))
})

before(async () => {
  if (!hasBrowser) return
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  apiKey = (await service.makeKey({ origins: [origin], plan: 'pro' })).key
  chromium = await useBrowser()
})
after(async () => {
  site.closeAllConnections()
  site.close()
  await chromium?.close()
})

async function open(t: TestContext, options = {}): Promise<{ page: Page; errors: string[] }> {
  const context = await chromium.browser.newContext(options)
  t.after(() => context.close())
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  await page.goto(origin)
  return { page, errors }
}

const shown = (page: Page) => page.locator('li h2').allTextContents()
const status = (page: Page, text: string | RegExp) =>
  page.getByRole('status').filter({ hasText: text }).waitFor()

describe('the adoption page', () => {
  browserTest('says that there are no animals', async (t) => {
    const { page, errors } = await open(t)
    await status(page, 'No animal is looking for a home')
    assert.deepEqual([errors, await shown(page)], [[], []])
  })

  browserTest('shows the available animals in pages and by kind', async (t) => {
    const store = clientOf(service)
    const rabbits = await store.categories.create({ name: 'Rabbits' })
    const names = Array.from({ length: 30 }, (_, index) => `Pet ${index}`)
    for (const name of names) await store.pets.create({ name, categoryId: 5 })
    // A category with an id beyond 2^53, and names that are not HTML.
    const large = 2n ** 63n - 1n
    await store.pets.create({ name: 'Luna <b>', categoryId: large })
    await store.categories.update(large, { name: 'Large & small' })
    await store.pets.create({ name: 'Milo', categoryId: rabbits.id })
    await store.pets.create({ name: 'Sold', categoryId: rabbits.id, status: 'sold' })

    const { page, errors } = await open(t, phone)
    await status(page, 'The 24 newest animals.')
    assert.deepEqual((await shown(page)).slice(0, 2), ['Milo', 'Luna <b>'])
    await page.getByRole('button', { name: 'Show more' }).click()
    await status(page, '32 animals.')
    assert.deepEqual(await shown(page), ['Milo', 'Luna <b>', ...names.toReversed()])
    assert.equal(await page.getByRole('button').count(), 0)

    await page.getByText('Large & small', { exact: true }).first().click()
    await status(page, 'One animal.')
    assert.deepEqual(await shown(page), ['Luna <b>'])
    await page.getByLabel('Rabbits').focus()
    await page.keyboard.press('Space')
    await status(page, 'One animal.')
    await page.locator('li h2', { hasText: 'Milo' }).waitFor()
    assert.deepEqual(await shown(page), ['Milo'])
    assert.deepEqual(errors, [])
  })

  for (const [name, options] of Object.entries({
    'on a phone': { ...phone, colorScheme: 'light' },
    'in dark colours': { ...desktop, colorScheme: 'dark' },
  })) {
    browserTest(`is accessible ${name}`, async (t) => {
      const { page } = await open(t, options)
      await status(page, 'The 24 newest animals.')
      await assertAccessible(page)
      await screenshot(page, `adoption page ${name}`)
    })
  }

  browserTest(
    'makes two requests a visit, so its key allows as many visits as the README says',
    async (t) => {
      const readme = readFileSync(join(folder, 'README.md'), 'utf8')
      const pageKey = apiKey
      t.after(() => {
        apiKey = pageKey
      })
      for (const plan of ['free', 'pro', 'business']) {
        apiKey = (await service.makeKey({ origins: [origin], plan })).key
        const { page } = await open(t)
        await status(page, 'The 24 newest animals.')
        const { json } = await service.request('GET', '/v1/limits', { key: apiKey, headers: { origin } })
        const { minute, day } = json as Limits
        assert.deepEqual([minute.limit - minute.remaining, day.limit - day.remaining], [2, 2])
        const [perMinute, perDay] = [minute, day].map(({ limit }) => (limit / 2).toLocaleString('en'))
        assert.ok(readme.includes(`| \`${plan}\` | ${perMinute} | ${perDay} |`), plan)
        if (plan !== 'free') continue
        assert.ok(readme.includes(`${perMinute} visits a minute and ${perDay} visits a day`))
        const code = readFileSync(join(folder, 'main.js'), 'utf8')
        assert.ok(code.includes(`${perMinute} visits a minute and ${perDay} a day`))
      }
    },
  )

  browserTest('the client reads events in a browser, and verifies signatures', async (t) => {
    const { key } = await service.makeKey({ origins: [origin], scopes: ['events:read'] })
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const now = new Date()
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('msg_1', now, '{"type":"webhook.test"}'),
    }
    const { page } = await open(t)
    const found = await page.evaluate(`(async () => {
      const { Petstore, verifyWebhook } = await import('./petstore-client.min.js')
      const store = new Petstore({ baseUrl: ${JSON.stringify(service.base)}, apiKey: ${JSON.stringify(key)} })
      const message = await verifyWebhook('{"type":"webhook.test"}', ${JSON.stringify(headers)}, ${JSON.stringify(secret)})
      for await (const { type } of store.events.stream({ after: 0 }))
        if (type.startsWith('pet.')) return [type, message.type, store.rateLimit.limit]
    })()`)
    assert.deepEqual(found, ['pet.created', 'webhook.test', 60])
  })

  browserTest('the client follows no redirects in a browser', async (t) => {
    const { page } = await open(t)
    const found = await page.evaluate(`(async () => {
      const { Petstore } = await import('./petstore-client.min.js')
      const store = new Petstore({ baseUrl: '/moved/v1', apiKey: 'key' })
      return store.inventory.get().catch(({ code, status }) => [code, status])
    })()`)
    assert.deepEqual(found, ['unexpected_response', 0])
  })

  browserTest('says that the animals cannot be shown, and tries again', async (t) => {
    const context = await chromium.browser.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    let isBroken = true
    await page.route('**/v1/pets*', (route) =>
      isBroken
        ? route.fulfill({ status: 404, json: { code: 'not_found', message: '', status: 404 } })
        : route.continue(),
    )
    await page.goto(origin)
    await status(page, 'The animals cannot be shown')
    isBroken = false
    await page.getByRole('button', { name: 'Try again' }).click()
    await status(page, 'The 24 newest animals.')

    // Another filter is another way to try again.
    isBroken = true
    await page.getByText('Rabbits', { exact: true }).first().click()
    await status(page, 'The animals cannot be shown')
    isBroken = false
    await page.getByText('All', { exact: true }).click()
    await status(page, 'The 24 newest animals.')
    assert.deepEqual(await page.getByRole('button').allTextContents(), ['Show more'])
  })

  browserTest('a load that a new filter ends does not enable the button of the next one', async (t) => {
    const { page } = await open(t)
    await status(page, 'The 24 newest animals.')
    const held: Route[] = []
    await page.route('**/v1/pets*', (route) => void held.push(route))
    const ended = page.waitForEvent('requestfailed')
    await page.getByText('Rabbits', { exact: true }).first().click()
    await eventually('the first load', () => held.length === 1)
    await page.getByText('All', { exact: true }).click()
    await ended
    await eventually('the second load', () => held.length === 2)
    await status(page, 'Loading the animals…')
    assert.ok(await page.getByRole('button', { name: 'Show more' }).isDisabled())
    await held[1]?.continue()
    await status(page, 'The 24 newest animals.')
    assert.ok(await page.getByRole('button', { name: 'Show more' }).isEnabled())
  })
})
