import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest } from '../support/browser.ts'
import { assertSound, choose, hostile, nextFrame } from '../support/console.ts'
import { useConsole } from '../support/useConsole.ts'

const { api, service, visit } = useConsole({}, async ({ api }) => {
  for (const name of ['Dogs', 'Birds']) await api('POST', '/categories', { name })
})

const dialogOf = (page: Page) => page.getByRole('dialog')
const names = async (): Promise<(string | undefined)[]> =>
  ((await api('GET', '/categories?limit=100')) as { name?: string }[]).map(({ name }) => name)

describe('categories', () => {
  browserTest('are added, renamed and removed', () =>
    visit('categories', async (opened) => {
      const { page } = opened
      const dialog = dialogOf(page)
      const countBefore = (await names()).length
      await page.getByText(`${countBefore} categories`, { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Add category' }).click()
      await dialog.getByRole('button', { name: 'Add category' }).click()
      await dialog.getByText('Enter a name.').waitFor()
      await dialog.getByLabel('Name').fill('A'.repeat(256))
      await dialog.getByRole('button', { name: 'Add category' }).click()
      await dialog.getByText(/255/).waitFor()
      await dialog.getByLabel('Name').fill(hostile)
      await dialog.getByRole('button', { name: 'Add category' }).click()
      await page.getByText(`${countBefore + 1} categories`, { exact: true }).waitFor()
      assert.ok((await names()).includes(hostile))
      await choose(page, hostile, 'Rename')
      await dialog.getByLabel('Name').fill('Aardvarks')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Aardvarks saved.').waitFor()
      assert.ok((await names()).includes('Aardvarks'))
      await choose(page, 'Aardvarks', 'Remove')
      await dialog.getByRole('button', { name: 'Remove category' }).click()
      await page.getByText('Aardvarks removed.').waitFor()
      await page.getByRole('button', { name: 'Actions for Aardvarks' }).waitFor({ state: 'detached' })
      assert.ok(!(await names()).includes('Aardvarks'))
      await assertSound(opened)
    }),
  )

  browserTest('show what others change, and are not overwritten before that was seen', async () => {
    const { id } = await api('POST', '/categories', { name: 'Cats' })
    const scopes = ['categories:read', 'categories:write']
    const { key } = await service.makeKey({ name: 'Without live updates', scopes })
    await visit('categories', async ({ page }) => {
      await page.getByText('Live', { exact: true }).waitFor()
      await choose(page, 'Cats', 'Rename')
      await api('PATCH', `/categories/${id}`, { name: 'Big cats' })
      await dialogOf(page).getByText('it is now Big cats').waitFor()
      await page.keyboard.press('Escape')
      await page.getByText('Big cats', { exact: true }).waitFor()
    })
    const look = async (page: Page) => {
      const dialog = dialogOf(page)
      const openDialog = async (name: string) => {
        const loaded = page.waitForResponse(`**/v1/categories/${id}`)
        await choose(page, name, 'Rename')
        await (await loaded).finished()
        await nextFrame(page)
      }
      await openDialog('Big cats')
      await dialog.getByLabel('Name').fill('Domestic cats')
      await api('PATCH', `/categories/${id}`, { name: 'Lions' })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('Nothing was saved').waitFor()
      await dialog.getByText('it is now Lions').waitFor()
      assert.equal((await api('GET', `/categories/${id}`)).name, 'Lions')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.equal((await api('GET', `/categories/${id}`)).name, 'Domestic cats')
      await openDialog('Domestic cats')
      await api('DELETE', `/categories/${id}`)
      await dialog.getByLabel('Name').fill('Tigers')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('Someone else has removed this category.').waitFor()
    }
    await visit('categories', ({ page }) => look(page), { key })
  })
})
