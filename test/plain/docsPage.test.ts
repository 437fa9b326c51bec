import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import {
  browserTest,
  hasBrowser,
  launchBrowser,
  openPage,
  type PageVisit,
  type TestBrowser,
} from '../support/browser.ts'
import { startTestService, type TestService } from '../support/service.ts'

const phone = { viewport: { width: 390, height: 844 } }
const desktop = { viewport: { width: 1280, height: 900 } }

let service: TestService
let chromium: TestBrowser
before(async () => {
  if (!hasBrowser) return
  service = await startTestService()
  chromium = await launchBrowser()
})
after(async () => {
  await chromium?.close()
  await service?.stop()
})

/** Opens a page, runs the checks of the test, and then checks its requests and errors. */
async function visit(
  path: string,
  size: typeof phone,
  colorScheme: 'light' | 'dark',
  look: (visit: PageVisit) => Promise<void>,
) {
  const opened = await openPage(chromium.browser, service.base, { ...size, colorScheme })
  try {
    const response = await opened.page.goto(service.base + path, { waitUntil: 'load' })
    assert.equal(response?.status(), 200)
    await look(opened)
    assert.deepEqual(opened.strayRequests, [], 'The page sends requests to another origin.')
    assert.deepEqual(opened.consoleErrors, [], 'The console has errors.')
    assert.deepEqual(await opened.policyViolations(), [], 'The page breaks its own policy.')
    const overflow = await opened.page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    assert.equal(overflow, 0, 'The page is wider than the screen.')
  } finally {
    await opened.page.context().close()
  }
}

for (const [size, viewport] of Object.entries({ phone, desktop })) {
  for (const colorScheme of ['light', 'dark'] as const) {
    describe(`on a ${size}, ${colorScheme}`, () => {
      browserTest('the reference shows the operations', () =>
        visit('/docs', viewport, colorScheme, async ({ page }) => {
          await page.getByRole('heading', { name: 'List animals' }).first().waitFor()
          // Further down, the reference renders an operation when it is scrolled into view; its menu has all of them.
          const listed = [
            'Add an animal',
            'Get an animal',
            'Change an animal',
            'Remove an animal',
            'Limits',
            'Keys',
          ]
          for (const name of listed) await page.getByText(name).first().waitFor({ state: 'attached' })
          assert.equal(await page.title(), 'API reference - Petstore')
        }),
      )

      browserTest('the home page leads to everything', () =>
        visit('/', viewport, colorScheme, async ({ page }) => {
          await page.getByRole('heading', { name: 'Petstore', level: 1 }).waitFor()
          const links = await page.getByRole('link').all()
          const targets = new Set(await Promise.all(links.map((link) => link.getAttribute('href'))))
          for (const path of ['/docs', '/guides', '/v1/openapi.json', '/v1/openapi.yaml', '/guides/keys']) {
            assert.ok(targets.has(path), `Nothing leads to ${path}.`)
          }
          for (const path of targets) {
            if (path?.startsWith('/')) assert.equal((await service.request('GET', path)).status, 200, path)
          }
        }),
      )

      browserTest('the list of guides leads to a guide', () =>
        visit('/guides', viewport, colorScheme, async ({ page }) => {
          await page.getByRole('link', { name: /^Errors/ }).click()
          await page.getByRole('heading', { name: 'Errors', level: 1 }).waitFor()
          assert.match(String(await page.locator('table').first().textContent()), /pet_not_found/)
        }),
      )

      browserTest('text stands out from what it is written on', () =>
        visit('/guides/errors', viewport, colorScheme, async ({ page }) => {
          const colours = await page.evaluate<Record<string, string>>(`(() => {
            const style = getComputedStyle(document.documentElement)
            const names = ['ink', 'soft', 'accent', 'paper', 'card', 'code']
            return Object.fromEntries(names.map((name) => [name, style.getPropertyValue('--' + name).trim()]))
          })()`)
          for (const ink of ['ink', 'soft', 'accent']) {
            for (const paper of ['paper', 'card', 'code']) {
              const ratio = contrast(String(colours[ink]), String(colours[paper]))
              assert.ok(ratio >= 4.5, `${ink} on ${paper} has a contrast of ${ratio.toFixed(2)}.`)
            }
          }
        }),
      )
    })
  }
}

browserTest('every guide fits on a phone', async () => {
  const { text } = await service.request('GET', '/guides')
  const guides = [...text.matchAll(/href="(\/guides\/\w+)"/g)].map((match) => String(match[1]))
  assert.ok(guides.length > 0)
  for (const guide of guides) {
    await visit(guide, phone, 'light', async ({ page }) => {
      assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, guide)
    })
  }
})

browserTest('a request to elsewhere, a broken policy and an error would be noticed', async () => {
  const { page, strayRequests, consoleErrors, policyViolations } = await openPage(
    chromium.browser,
    service.base,
  )
  await page.goto(service.base)
  await page.evaluate(
    `document.body.append(Object.assign(new Image(), { src: 'https://example.com/x.png' }))`,
  )
  await page.waitForFunction('globalThis.policyViolations.length > 0')
  assert.deepEqual(await policyViolations(), ['img-src https://example.com/x.png'])
  assert.ok(consoleErrors.length > 0)
  await page.goto('https://example.com/').catch(() => {})
  assert.deepEqual(strayRequests, ['https://example.com/'])
  await page.context().close()
})

/** WCAG's ratio between two colours that are written as #rgb or #rrggbb. */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(colour: string): number {
  const digits = colour.slice(1)
  const step = digits.length / 3
  const [red = 0, green = 0, blue = 0] = [0, 1, 2].map((index) => {
    const pair = digits.slice(index * step, (index + 1) * step).repeat(step === 1 ? 2 : 1)
    const value = Number.parseInt(pair, 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
