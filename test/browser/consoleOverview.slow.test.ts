import { describe } from 'node:test'
import { browserTest, type PageVisit } from '../support/browser.ts'
import { assertSoundInBoth } from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { useConsole } from '../support/useConsole.ts'

const { service, visit } = useConsole()

browserTest('a browser whose language is not valid shows the charts', () =>
  visit('overview', async ({ page }) => {
    await page.addInitScript(() =>
      Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' }),
    )
    await page.reload()
    await page.getByRole('img', { name: /^Requests per minute/ }).waitFor()
  }),
)

describe('limits', () => {
  browserTest('count down to the reset, and show a ban', async () => {
    const { id, key } = await service.makeKey({ plan: 'enterprise', limits: { perMinute: 5, streams: 3 } })
    // The clock of the browser goes on, and that of the service does not.
    service.advance(Date.now() - service.now())
    await service.request('GET', '/v1/pets', { key })
    const look = async (opened: PageVisit) => {
      const { page } = opened
      await page.getByText('4 of 5 left').waitFor()
      // Only an operator can read the settings of the key.
      await page.getByText('As many as an operator has set for this key').waitFor()
      const [first] = await page.getByText(/Resets in/).allInnerTexts()
      await eventually('the time goes on', async () => {
        const [later] = await page.getByText(/Resets in/).allInnerTexts()
        return later !== first
      })
      await eventually('the key is banned', async () => {
        await service.request('GET', '/v1/pets', { key })
        const { json } = await service.request('GET', `/v1/keys/${id}`, { key: service.operatorKey })
        return (json as { bannedUntil?: string }).bannedUntil !== undefined
      })
      await page.getByText('The ban ends in').waitFor()
      await assertSoundInBoth(opened, 'limits-banned')
    }
    await visit('limits', look, { key })
  })
})

describe('the audit log', () => {
  browserTest('is loaded page by page', async () => {
    for (let i = 0; i < 60; i++) await service.makeKey({ name: `Key number ${i}` })
    await visit('audit', async ({ page }) => {
      await page.locator('.audit-entry').nth(49).waitFor()
      await page.getByRole('button', { name: 'Load more' }).click()
      await page.locator('.audit-entry').nth(60).waitFor()
    })
  })
})
