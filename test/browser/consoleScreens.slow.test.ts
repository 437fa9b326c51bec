import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest, type PageVisit } from '../support/browser.ts'
import {
  assertAccessible,
  assertSound,
  assertSoundInBoth,
  desktop,
  goTo,
  hostile,
  nextFrame,
  phone,
  screenshot,
  waitUntil,
} from '../support/console.ts'
import { animalPageOf } from '../support/consoleAnimalPage.ts'
import { addAnimals, addRequests } from '../support/consoleData.ts'
import { eventually, eventuallyHolds } from '../support/eventually.ts'
import { expectCount, expectNone } from '../support/expectPage.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { proxyFor } from '../support/tcpProxy.ts'
import { type ConsoleTest, useConsole } from '../support/useConsole.ts'
import { loopbackAllowed, startWebhookReceiver, type WebhookReceiver } from '../support/webhookReceiver.ts'

let receiver: WebhookReceiver
let usedKeyId: number
const { api, service, visit } = useConsole(loopbackAllowed, async (test) => {
  receiver = await startWebhookReceiver()
  await addAnimals(test)
  await addProfile(test)
  await addKeysAndWebhooks(test)
  const texts = { name: 'Second Chance', about: `${hostile}\nSince 1987.`, phone: '+49 30 1234567' }
  await test.api('PATCH', '/store/profile', { ...texts, adoptionPage: true })
})
after(() => receiver?.stop())

/** A reload ends the scripts of a page. */
function ignoreReload(error: Error): void {
  if (!error.message.includes('Execution context was destroyed')) throw error
}

async function addProfile(test: ConsoleTest) {
  const { addPhoto } = animalPageOf(test)
  const profile = { description: `Learns fast. ${hostile}`, species: 'dog', breeds: ['Labrador Retriever'] }
  await api('PATCH', `/pets/1/profile`, profile)
  for (const alt of ['Milo asleep', hostile]) await addPhoto(1, alt)
}

async function addKeysAndWebhooks({ service }: ConsoleTest) {
  const { id, key } = await service.makeKey({ name: 'Web site', plan: 'pro' })
  usedKeyId = id
  for (let i = 0; i < 40; i++) await service.request('GET', '/v1/pets', { key })
  await addRequests(await service.openDatabase(), id, service.now())
  await service.makeKey({ name: hostile, scopes: ['pets:read'], origins: ['https://shelter.example'] })
  const { id: oldId } = await service.makeKey({ name: 'Old partner feed' })
  await api('POST', `/keys/${oldId}/rotate`, { overlapSeconds: 3600 })
  await api('DELETE', `/keys/${oldId}`)
  const hook = await api('POST', '/webhooks', { url: receiver.url, events: ['pet.created', 'order.placed'] })
  await api('POST', `/webhooks/${hook.id}/test`)
  await receiver.until(1)
  receiver.reply = 503
  await api('POST', '/pets', { name: hostile, categoryId: 1 })
  await eventually('both messages were sent', async () => {
    const sent: { attempts: number }[] = await api('GET', `/webhooks/${hook.id}/deliveries`)
    return sent.length === 2 && sent.every(({ attempts }) => attempts > 0)
  })
  await api('POST', '/webhooks', { url: 'https://partner.example/hooks/animals', events: ['pet.created'] })
  await api('PATCH', '/webhooks/2', { status: 'paused' })
}

type Screen = { name: string; path: () => string; ready(page: Page): Promise<unknown> }

/** Every screen of this part, with what shows that it is complete. */
const screens: Screen[] = [
  {
    name: 'overview',
    path: () => 'overview',
    ready: (page) =>
      Promise.all([
        page.getByText('Available').waitFor(),
        page.getByRole('img', { name: /^Requests per minute/ }).waitFor(),
        page.getByText('was added').first().waitFor(),
      ]),
  },
  {
    name: 'animal',
    path: () => 'animals/1',
    ready: (page) =>
      Promise.all([
        page.getByText('added this animal').waitFor(),
        page.getByText('Labrador Retriever', { exact: true }).waitFor(),
        page.getByText('No orders for this animal.').waitFor(),
      ]),
  },
  {
    name: 'categories',
    path: () => 'categories',
    ready: (page) => page.getByText('Dogs', { exact: true }).waitFor(),
  },
  {
    name: 'keys',
    path: () => 'keys',
    ready: (page) => page.getByRole('link', { name: 'Web site' }).waitFor(),
  },
  {
    name: 'key',
    path: () => `keys/${usedKeyId}`,
    ready: (page) =>
      Promise.all([
        page.getByText('left').first().waitFor(),
        page.getByRole('img', { name: /^Requests per 15 minutes/ }).waitFor(),
        page.getByText('rate_limit_exceeded').waitFor(),
      ]),
  },
  {
    name: 'store',
    path: () => 'store',
    ready: (page) => page.getByText('Second Chance').first().waitFor(),
  },
  { name: 'webhooks', path: () => 'webhooks', ready: (page) => page.getByText('Paused').waitFor() },
  { name: 'webhook', path: () => 'webhooks/1', ready: (page) => page.getByText('Response 503').waitFor() },
  { name: 'audit', path: () => 'audit', ready: (page) => page.getByText('was rotated').waitFor() },
  { name: 'limits', path: () => 'limits', ready: (page) => page.getByText('This day').waitFor() },
]

const animalsScreen: Screen = {
  name: 'animals',
  path: () => 'animals',
  ready: (page) => page.getByText('Rocky').waitFor(),
}

const galleryScreen: Screen = {
  name: 'gallery',
  path: () => 'animals?view=gallery',
  ready: (page) => page.getByRole('article').filter({ hasText: 'Rocky' }).waitFor(),
}

const ordersScreen: Screen = {
  name: 'orders',
  path: () => 'orders',
  ready: (page) => page.getByRole('button', { name: 'Approve' }).first().waitFor(),
}

/** How the first element of each kind looks. */
const stylesOf = (page: Page) =>
  page.evaluate<Record<string, string>>(`(() => {
    const styles = {}
    for (const element of document.querySelectorAll('main.content *')) {
      const { display, padding, gap, borderRadius, fontSize } = getComputedStyle(element)
      const selector = element.localName + '.' + (element.getAttribute('class') ?? '')
      styles[selector] ??= [display, padding, gap, borderRadius, fontSize].join(', ')
    }
    return styles
  })()`)

for (const [size, options] of Object.entries({ phone, desktop })) {
  browserTest(`every screen is sound on a ${size}`, (t) =>
    visit(
      'limits',
      async (opened) => {
        const { page } = opened
        await page.locator('main.content').waitFor()
        for (const { name, path, ready } of [animalsScreen, galleryScreen, ...screens]) {
          await t.test(name, async () => {
            await goTo(page, path())
            await ready(page)
            await assertSoundInBoth(opened, `${name}-${size}`)
            await page.locator('main.content').evaluate((content) => {
              const region = content as unknown as { scrollTop: number; scrollHeight: number }
              region.scrollTop = region.scrollHeight
            })
            await screenshot(page, `${name}-${size}-end`)
          })
        }
      },
      options,
    ),
  )
}

/** Each screen in a state without its content. */
describe('a screen', () => {
  const requests: Record<string, RegExp> = {
    overview: /\/v1\/store\/inventory/,
    categories: /\/v1\/categories\?/,
    store: /\/v1\/store\/profile/,
    keys: /\/v1\/keys\?/,
    webhooks: /\/v1\/webhooks\?/,
    audit: /\/v1\/audit\?/,
    limits: /\/v1\/limits/,
  }
  browserTest('shows that it cannot reach the service, and goes on when it can', (t) =>
    visit('animals', async (opened) => {
      const { page } = opened
      for (const [path, pattern] of Object.entries(requests)) {
        await t.test(path, async () => {
          await page.route(pattern, (route) => route.abort())
          await goTo(page, path)
          await page.getByText('The service cannot be reached').waitFor()
          await assertSound(opened)
          await assertAccessible(page)
          await page.unroute(pattern)
          await eventually('it goes on', async () => {
            // A screen that tries again by itself may have taken the button away.
            await page
              .getByRole('button', { name: 'Try again' })
              .click({ timeout: 1_000 })
              .catch(() => {})
            return (await page.getByText('The service cannot be reached').count()) === 0
          })
        })
      }
    }),
  )

  browserTest('counts down to the end of a rate limit, then loads', (t) =>
    visit('animals', async (opened) => {
      const { page } = opened
      for (const [path, pattern] of Object.entries(requests)) {
        await t.test(path, async () => {
          await page.route(pattern, (route) =>
            route.fulfill({
              status: 429,
              headers: { 'Retry-After': '1', 'Content-Type': 'application/json' },
              body: JSON.stringify({ code: 'rate_limit_exceeded', message: 'Too many requests.' }),
            }),
          )
          await goTo(page, path)
          await page.getByText('Rate limit reached').waitFor()
          await assertSound(opened)
          await assertAccessible(page)
          await page.unroute(pattern)
          await page.getByText('Rate limit reached').waitFor({ state: 'detached' })
        })
      }
    }),
  )

  browserTest('goes on by itself when the connection is back', (t) =>
    visit(
      'animals',
      async ({ page }) => {
        await page.getByText('Live', { exact: true }).waitFor()
        // The code of a screen is loaded when it is first shown.
        const shown = [...screens, animalsScreen, ordersScreen].filter(({ name }) =>
          ['keys', 'overview', 'animals', 'orders', 'limits'].includes(name),
        )
        for (const { name, path, ready } of shown) {
          await t.test(name, async () => {
            await page.context().setOffline(true)
            await goTo(page, path())
            const notice = page.getByText('The service cannot be reached')
            await expectNone(page.getByText('out of date'), notice.first())
            await page.context().setOffline(false)
            await ready(page)
            await expectCount(notice, 0)
          })
        }
      },
      desktop,
    ),
  )

  browserTest('that is first opened during an outage looks the same as after a reload', async (t) => {
    const proxy = await proxyFor(t, service.base)
    const { origin } = new URL(proxy.through(service.base))
    const proxied: TestService = Object.create(service, { base: { value: origin } })
    const look = async ({ page }: PageVisit) => {
      await page.getByText('Live', { exact: true }).waitFor()
      // A list has the code and the stylesheet of its details.
      const first = [...screens, ordersScreen].filter(({ name }) => name !== 'keys' && name !== 'webhooks')
      for (const { name, path, ready } of first) {
        await t.test(name, async () => {
          await proxy.refuse()
          await goTo(page, path())
          await page.getByText('The service cannot be reached').first().waitFor()
          await proxy.accept()
          // The console may have noticed it already, and reload the page.
          await page.evaluate(`dispatchEvent(new Event('online'))`).catch(ignoreReload)
          await ready(page)
          const found = await stylesOf(page)
          await page.reload()
          await ready(page)
          const expected = await stylesOf(page)
          const selectors = Object.keys(expected).filter((selector) => selector in found)
          assert.ok(selectors.length > 8, `${selectors}`)
          for (const selector of selectors) assert.equal(found[selector], expected[selector], selector)
        })
      }
    }
    await visit('animals', look, { service: proxied, ...desktop })
  })

  browserTest('that fails on a response explains it, and the navigation still works', () =>
    visit('animals', async (opened) => {
      const { page, consoleErrors } = opened
      // A proxy that changes the body.
      await page.route(requests.limits as RegExp, (route) => route.fulfill({ json: {} }))
      await goTo(page, 'limits')
      await page.getByRole('heading', { name: 'This screen cannot be shown' }).waitFor()
      await eventually('the error', () => consoleErrors.splice(0).some((text) => /undefined/.test(text)))
      await assertSoundInBoth(opened, 'screen-error')
      await page.unroute(requests.limits as RegExp)
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByText('This day').waitFor()
      // One thing of a list is left by the link to the list.
      await page.route(`**/v1/keys/${usedKeyId}`, (route) => route.fulfill({ json: {} }))
      await page.getByRole('link', { name: 'Keys' }).click()
      await page.getByRole('link', { name: 'Web site' }).click()
      await page.getByRole('heading', { name: 'This screen cannot be shown' }).waitFor()
      await page.getByRole('link', { name: 'Keys' }).click()
      await page.getByRole('link', { name: 'Web site' }).waitFor()
    }),
  )

  browserTest('whose code an update has replaced says so, and is shown after a reload', () =>
    visit('animals', async (opened) => {
      const { page } = opened
      const pattern = /\/assets\/Limits-[^/]*\.js/
      // After an update, the service has its code under another name.
      await page.route(pattern, (route) =>
        route.continue({ url: `${service.base}/console/assets/Limits-replaced.js` }),
      )
      await goTo(page, 'limits')
      await page.getByRole('heading', { name: 'A new version is available' }).waitFor()
      await assertSoundInBoth(opened, 'screen-outdated')
      await page.unroute(pattern)
      await page.getByRole('button', { name: 'Reload' }).click()
      await page.getByText('This day').waitFor()
    }),
  )

  browserTest('is not covered by the navigation of a phone that was open when it was turned', () =>
    visit(
      'limits',
      async (opened) => {
        const { page } = opened
        const drawer = page.getByRole('dialog', { name: 'Navigation' })
        await page.getByRole('button', { name: 'Open navigation' }).click()
        await drawer.waitFor()
        // A small phone in landscape still has a drawer. All of it can be reached.
        await page.setViewportSize({ width: 667, height: 375 })
        await drawer.getByRole('button', { name: 'Sign out' }).click({ trial: true })
        await assertSoundInBoth(opened, 'navigation-landscape')
        // A large one does not.
        await page.setViewportSize({ width: 932, height: 430 })
        await drawer.waitFor({ state: 'detached' })
        await page.getByRole('link', { name: 'How limits work' }).click({ trial: true })
        await page.getByRole('link', { name: 'Keys' }).click()
        await page.getByRole('link', { name: 'Web site' }).waitFor()
        await screenshot(page, 'keys-landscape')
        await page.setViewportSize(phone.viewport)
        await page.getByRole('link', { name: 'Web site' }).click()
        await page.getByRole('heading', { name: 'Web site' }).waitFor()
      },
      phone,
    ),
  )

  browserTest('has room for names in its table at every width', () =>
    visit('keys', async ({ page }) => {
      for (const path of ['animals', 'keys', 'webhooks']) {
        await goTo(page, path)
        const name = page.getByRole('columnheader', { name: /^(Name|Address)$/ })
        await name.waitFor()
        for (const width of [360, 640, 641, 860, 861, 1080, 1081]) {
          await page.setViewportSize({ width, height: 800 })
          await eventuallyHolds(async () => {
            const found = (await name.boundingBox())?.width ?? 0
            assert.ok(found >= 110, `${path}: ${found} of ${width} pixels`)
          })
        }
      }
    }),
  )

  browserTest('that does not exist says so', (t) =>
    visit('limits', async (opened) => {
      const { page } = opened
      const headings = {
        '%': 'Page not found',
        'a/b/c': 'Page not found',
        'orders/999': 'Page not found',
        'keys/%3Cb%3E': 'Key not found',
        'keys/999': 'Key not found',
        'webhooks/99': 'Webhook not found',
        'animals/999': 'Animal not found',
        'AUDIT?x=1': 'Audit log',
      }
      for (const [path, name] of Object.entries(headings)) {
        await t.test(path, async () => {
          await page.goto(`${service.base}/console/${path}`)
          await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor()
          await waitUntil(page, `document.title === ${JSON.stringify(`${name} - Petstore`)}`)
        })
      }
      await page.waitForURL('**/console/audit?x=1')
      await goTo(page, 'webhooks/99')
      await page.getByRole('heading', { name: 'Webhook not found' }).waitFor()
      await assertSoundInBoth(opened, 'not-found-desktop')
      await page.getByRole('link', { name: 'Go to Webhooks' }).click()
      await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor()
    }),
  )

  browserTest('fits on a narrow phone', () =>
    visit(
      'overview',
      async (opened) => {
        const { page } = opened
        await page.getByText('Available').waitFor()
        await expectCount(page.locator('.figure-swatch'), 3)
        await waitUntil(
          page,
          `[...document.querySelectorAll('.figure-swatch')].every(({ offsetWidth }) => offsetWidth === 10)`,
        )
        await assertSoundInBoth(opened, 'overview-narrow')
        await goTo(page, 'orders')
        await page.getByRole('button', { name: /^Cancelled/ }).waitFor()
        await assertSoundInBoth(opened, 'orders-narrow')
      },
      { ...phone, viewport: { width: 320, height: 640 } },
    ),
  )

  browserTest('of a key without more scopes shows what it may see', async () => {
    const { key } = await service.makeKey({ name: 'Reader', scopes: ['pets:read'] })
    const look = async (opened: PageVisit) => {
      const { page } = opened
      await page.getByText('Available').waitFor()
      await page.getByText('No live updates').waitFor()
      const reason = page.getByText('requests over time (needs the scope keys:manage)')
      await expectNone(page.getByRole('heading', { name: 'Requests' }), reason)
      await expectNone(page.getByRole('heading', { name: 'Latest events' }), reason)
      await assertSoundInBoth(opened, 'overview-reader')
    }
    await visit('overview', look, { key })
  })

  browserTest('of a key whose event streams are all open says so', async () => {
    const { key } = await service.makeKey({ name: 'Many tabs', scopes: ['pets:read', 'events:read'] })
    await visit(
      'overview',
      ({ page: first }) =>
        visit(
          'overview',
          async ({ page: second }) => {
            for (const page of [first, second]) await page.getByText('Live', { exact: true }).waitFor()
            await visit(
              'overview',
              async (opened) => {
                const { page } = opened
                await page.getByText('Too many tabs for live updates').waitFor()
                await page.getByText('Too many event streams').waitFor()
                await assertSoundInBoth(opened, 'overview-limited')
                await goTo(page, 'limits')
                await page.getByText('all streams of the key are open').waitFor()
              },
              { key },
            )
          },
          { key },
        ),
      { key },
    )
  })

  browserTest('without content says what to do first', async () => {
    const empty = await startTestService({}, { startAt: 'now' })
    const look = async (opened: PageVisit) => {
      const { page } = opened
      await page.getByText('No animals yet').waitFor()
      await page.getByRole('img', { name: /^Requests per minute/ }).waitFor()
      await assertSoundInBoth(opened, 'overview-empty')
      await page.getByRole('link', { name: 'Webhooks' }).click()
      await page.getByText('No webhooks yet').waitFor()
      await assertSoundInBoth(opened, 'webhooks-empty')
      await page.getByRole('link', { name: 'Orders' }).click()
      await page.getByText('No orders yet').waitFor()
      await assertSoundInBoth(opened, 'orders-empty')
      await page.getByRole('link', { name: 'Animals', exact: true }).click()
      await page.getByRole('button', { name: 'Add the first animal' }).waitFor()
      await assertSoundInBoth(opened, 'animals-empty')
    }
    await visit('overview', look, { service: empty }).finally(() => empty.stop())
  })
})

/** Does what is animated: grey rows, a button, a dialog and a row that changes. */
async function recordMotion(page: Page): Promise<void> {
  await page.locator('main.content').waitFor()
  await page.evaluate(`
    globalThis.motion = []
    document.addEventListener('animationstart', ({ animationName }) => motion.push(animationName))
    document.addEventListener('transitionrun', ({ propertyName }) => motion.push(propertyName))
  `)
  const held = Promise.withResolvers<void>()
  await page.route('**/v1/listings?*', (route) => held.promise.then(() => route.continue()))
  await goTo(page, 'animals')
  await page.getByRole('status', { name: 'Loading animals' }).waitFor()
  await nextFrame(page)
  held.resolve()
  const row = page.getByRole('row').filter({ hasText: 'Rocky' })
  await row.waitFor()
  const { status } = await api('GET', '/pets/9')
  await api('PATCH', '/pets/9', { status: status === 'available' ? 'pending' : 'available' })
  await page.locator('.row-changed').waitFor()
  await page.getByRole('button', { name: 'Add animal' }).hover()
  await page.getByRole('button', { name: 'Add animal' }).click()
  await page.getByRole('dialog').waitFor()
  await nextFrame(page)
}

describe('motion', () => {
  const names = ['pulse', 'row-changed', 'background-color', 'rise']
  browserTest('shows what changes', () =>
    visit(
      'limits',
      async ({ page }) => {
        await recordMotion(page)
        for (const name of names) await waitUntil(page, `motion.includes('${name}')`)
      },
      { reducedMotion: 'no-preference' },
    ),
  )

  browserTest('does not run for a person who prefers less of it', () =>
    visit('limits', async ({ page }) => {
      await recordMotion(page)
      // biome-ignore lint/plugin: nothing must have moved until now
      assert.deepEqual(await page.evaluate('motion'), [])
    }),
  )
})
