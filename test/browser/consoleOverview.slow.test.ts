import { describe } from 'node:test'
import { browserTest, type PageVisit } from '../support/browser.ts'
import { assertSound, assertSoundInBoth } from '../support/console.ts'
import { addAnimals, addRequests } from '../support/consoleData.ts'
import { eventually } from '../support/eventually.ts'
import { expectText, textMatching } from '../support/expectPage.ts'
import { banKey } from '../support/rateLimits.ts'
import { useConsole } from '../support/useConsole.ts'

const { api, service, visit } = useConsole({}, async (test) => {
  await addAnimals(test)
  const { id } = await service.makeKey({ name: 'Web site', plan: 'pro' })
  await addRequests(await service.openDatabase(), id, service.now())
})

describe('the overview', () => {
  browserTest('shows what others change as it happens', () =>
    visit('overview', async ({ page }) => {
      await page.getByText('Live', { exact: true }).waitFor()
      const available = page.getByRole('link', { name: /^Available/ })
      const before = Number(await textMatching(available, /\d+/))
      await api('POST', '/pets', { name: 'Pixel', categoryId: 1 })
      await page.getByText('Pixel was added').waitFor()
      await page.getByRole('link', { name: new RegExp(`^Available ${before + 1} `) }).waitFor()
    }),
  )

  browserTest('shows requests of an hour, a day and 30 days, also as a table', () =>
    visit('overview', async (opened) => {
      const { page } = opened
      await page.getByRole('img', { name: /^Requests per minute, last 1 hour/ }).waitFor()
      await page.getByRole('button', { name: '24 hours' }).click()
      await page.getByRole('img', { name: /^Requests per 15 minutes, last 24 hours/ }).waitFor()
      await page.getByText('Show as a table').click()
      await page.getByRole('table').getByRole('row').nth(10).waitFor()
      await assertSound(opened)
      await page.getByRole('button', { name: '30 days' }).click()
      await page.getByRole('img', { name: /^Requests per 12 hours, last 30 days/ }).waitFor()
    }),
  )

  browserTest('a browser whose language is not valid shows the charts', () =>
    visit('overview', async ({ page }) => {
      await page.addInitScript(() =>
        Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' }),
      )
      await page.reload()
      await page.getByRole('img', { name: /^Requests per minute/ }).waitFor()
    }),
  )
})

describe('limits', () => {
  browserTest('count down to the reset, and show a ban', async () => {
    const { key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 5, streams: 3 } })
    // The clock of the browser goes on, and that of the service does not.
    service.advance(Date.now() - service.now())
    await service.request('GET', '/v1/pets', { key })
    const look = async (opened: PageVisit) => {
      const { page } = opened
      await page.getByText('4 of 5 left').waitFor()
      // Only an operator can read the settings of the key.
      await page.getByText('As many as an operator has set for this key').waitFor()
      const resets = page.getByText(/Resets in/).first()
      const first = await textMatching(resets, /.+/)
      await eventually('the time goes on', async () => (await resets.innerText()) !== first)
      await banKey(service, key)
      await page.getByText('The ban ends in').waitFor()
      await assertSoundInBoth(opened, 'limits-banned')
    }
    await visit('limits', look, { key })
  })
})

describe('the audit log', () => {
  browserTest('says who changed what, newest first, with the request', () =>
    visit('audit', async ({ page }) => {
      const { id } = await service.makeKey({ name: 'Website' })
      const { headers } = await service.request('POST', `/v1/keys/${id}/rotate`, { key: service.operatorKey })
      await page.reload()
      await page.getByText(`Key ${id} “Website”`).first().waitFor()
      const entry = page.locator('.audit-entry').first()
      await expectText(entry, new RegExp(`^Key ${id} “Website” was rotated by key 1 “.*”, (just now|.* ago)`))
      await entry.getByText(String(headers['x-request-id'])).waitFor()
    }),
  )

  browserTest('is loaded page by page', async () => {
    for (let i = 0; i < 60; i++) await service.makeKey({ name: `Key number ${i}` })
    await visit('audit', async ({ page }) => {
      await page.locator('.audit-entry').nth(49).waitFor()
      await page.getByRole('button', { name: 'Load more' }).click()
      await page.locator('.audit-entry').nth(60).waitFor()
    })
  })
})
