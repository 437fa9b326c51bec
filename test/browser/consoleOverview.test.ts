import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest } from '../support/browser.ts'
import { assertSound } from '../support/console.ts'
import { addAnimals, addRequests } from '../support/consoleData.ts'
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
      const before = Number(/\d+/.exec(await available.innerText())?.[0])
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
      assert.ok((await page.getByRole('table').getByRole('row').count()) > 10)
      await assertSound(opened)
      await page.getByRole('button', { name: '30 days' }).click()
      await page.getByRole('img', { name: /^Requests per 12 hours, last 30 days/ }).waitFor()
    }),
  )
})

describe('the audit log', () => {
  browserTest('says who changed what, newest first, with the request', () =>
    visit('audit', async ({ page }) => {
      const { id } = await service.makeKey({ name: 'Website' })
      const { headers } = await service.request('POST', `/v1/keys/${id}/rotate`, { key: service.operatorKey })
      await page.reload()
      await page.getByText(`Key ${id} “Website”`).first().waitFor()
      const text = await page.locator('.audit-entry').first().innerText()
      assert.match(text, new RegExp(`^Key ${id} “Website” was rotated by key 1 “.*”, (just now|.* ago)`))
      assert.ok(text.includes(String(headers['x-request-id'])), text)
    }),
  )
})
