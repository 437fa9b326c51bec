import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest } from '../support/browser.ts'
import { assertSound, goTo, screenshot } from '../support/console.ts'
import { addCategories, row } from '../support/consoleAnimals.ts'
import { chooseFile, countOf } from '../support/consoleImport.ts'
import { eventually } from '../support/eventually.ts'
import { expectText, expectTexts } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

const { api, service, visit } = useConsole({}, addCategories)

const csv = [
  'Ref,Nickname,Species,Sex,Born,Mood',
  'I-1,Luna,Dog,f,31/5/2023,Calm',
  'I-2,Milo,Unicorn,m,,',
  'I-3,Nala,Cat,sometimes,,',
].join('\n')

describe('import', () => {
  browserTest('a file is checked, its columns are corrected, and it is applied', () =>
    visit('animals', async (opened) => {
      const { page } = opened
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('menuitem', { name: 'Import animals' }).click()
      await page.getByRole('heading', { name: 'Import animals' }).waitFor()
      await screenshot(page, 'import-choose')
      await chooseFile(page, csv)
      await page.getByText('The file has no animal that can be imported.').waitFor()
      await expectText(countOf(page, 'Wrong lines'), '3')
      await screenshot(page, 'import-unrecognized')
      await page.getByLabel('Nickname').selectOption('name')
      await page.getByText('Born must be a date', { exact: false }).waitFor()
      await page.getByLabel('Dates').selectOption('dmy')
      const apply = page.getByRole('button', { name: 'Add 2 animals' })
      await apply.waitFor()
      await expectText(countOf(page, 'Wrong lines'), '1')
      await page.getByText('Line 4').waitFor()
      await page.getByText('New categories: Unicorn').waitFor()
      await page.getByLabel('Mood').selectOption('attributes')
      await page.getByText('6 of 6 are imported.', { exact: false }).waitFor()
      await assertSound(opened)
      await screenshot(page, 'import-preview')
      assert.deepEqual(await api('GET', '/pets'), [])
      await apply.click()
      await page.getByText('2 animals added, 0 changed, 0 unchanged. 1 wrong line left out.').waitFor()
      await assertSound(opened)
      await screenshot(page, 'import-result')
      await page.getByRole('link', { name: 'Show the animals' }).click()
      await row(page, 'Luna').waitFor()
      const [luna] = (await api('GET', '/listings?view=staff&limit=100')).filter(
        ({ pet }: { pet: { name: string } }) => pet.name === 'Luna',
      )
      assert.deepEqual(
        [luna.profile.externalId, luna.profile.birthDate, luna.profile.attributes],
        ['I-1', '2023-05-31', { Mood: 'Calm' }],
      )
    }),
  )

  browserTest('a file that is not applied is erased when the screen is left, without a question', () =>
    visit('import', async ({ page }) => {
      await chooseFile(page, 'name,category\nRex,Dogs')
      await page.getByRole('button', { name: 'Add 1 animal' }).waitFor()
      assert.equal((await api('GET', '/imports')).length, 2)
      await goTo(page, 'animals')
      await eventually('it is erased', async () => {
        const imports: { state: string }[] = await api('GET', '/imports')
        return imports.every(({ state }) => state === 'applied')
      })
    }),
  )

  browserTest('a key without keys:manage is offered no import', async () => {
    const { key } = await service.makeKey({ name: 'Staff', plan: 'pro', scopes: ['pets:read', 'pets:write'] })
    await visit(
      'animals',
      async ({ page }) => {
        await page.getByRole('button', { name: 'More actions' }).click()
        await expectTexts(page.getByRole('menuitem'), ['Export as CSV'])
        await goTo(page, 'import')
        await page.getByText('This key cannot see Import animals').waitFor()
      },
      { key },
    )
  })
})

describe('export', () => {
  /** Saves the file of a screen, and returns its lines. */
  async function exported(page: Page): Promise<string[]> {
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Export as CSV' }).click()
    const chunks = await (await download).createReadStream()
    return (await buffer(chunks)).toString().split('\r\n')
  }

  browserTest(
    'animals and orders are saved as CSV with the names of categories, and no formula',
    async () => {
      const { id } = await api('POST', '/pets', { name: '=HYPERLINK("x")', categoryId: 2 })
      await api('PATCH', `/pets/${id}/profile`, {
        breeds: ['Tabby'],
        fee: { amount: 1_250, currency: 'EUR' },
      })
      await api('POST', '/store/orders', {
        petId: id,
        customer: { name: '+Ada', email: 'ada@shelter.example' },
      })
      await visit('animals', async ({ page }) => {
        await row(page, 'HYPERLINK').waitFor()
        const animals = await exported(page)
        const [titles = ''] = animals
        assert.ok(titles.startsWith('\ufeffid,externalId,name,categoryId,category,status,'), titles)
        const line = animals.find((text) => text.startsWith(`${id},`)) ?? ''
        assert.ok(line.startsWith(`${id},,"'=HYPERLINK(""x"")",2,Cats,pending,`), line)
        assert.match(line, /,Tabby,.*,12\.50 EUR,/)
        await page.getByText(/\d animals exported/).waitFor()
        await goTo(page, 'orders')
        await page.getByRole('heading', { name: 'Orders' }).waitFor()
        const [heading = '', order = ''] = await exported(page)
        assert.ok(heading.startsWith('\ufeffid,status,animal id,animal,category,adopter,e-mail,'), heading)
        assert.match(order, /^\d+,placed,\d+,"'=HYPERLINK\(""x""\)",Cats,'\+Ada,ada@shelter\.example,/)
      })
    },
  )

  browserTest('an export of animals is an import without changes', () =>
    visit('animals', async ({ page }) => {
      await row(page, 'HYPERLINK').waitFor()
      const lines = await exported(page)
      await goTo(page, 'import')
      await chooseFile(page, lines.join('\r\n'))
      await page.getByText('The file changes nothing', { exact: false }).waitFor()
      await expectText(countOf(page, 'Unchanged'), '3')
    }),
  )
})
