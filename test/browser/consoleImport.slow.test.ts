import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest } from '../support/browser.ts'
import { assertSoundInBoth, desktop, goTo, hostile, phone } from '../support/console.ts'
import { addCategories } from '../support/consoleAnimals.ts'
import { chooseFile, countOf, manyAnimals } from '../support/consoleImport.ts'
import { eventually } from '../support/eventually.ts'
import { expectEnabled, expectText } from '../support/expectPage.ts'
import { useConsole } from '../support/useConsole.ts'

const { api, service, visit } = useConsole({}, addCategories)
const small = { ...phone, viewport: { width: 320, height: 640 } }

/** Names and values that are long, or that would be code. */
const csv = [
  `name,category,sex,${'A very long heading of a column '.repeat(4)},${hostile},Photo`,
  `${hostile},Dogs,f,x,y,https://shelter.example/1.jpg`,
  `${'Extraordinarilylongname'.repeat(8)},${'Some kind of animal '.repeat(3)},m,x,y,`,
  `Wrong,Dogs,${hostile},x,y,`,
].join('\n')

describe('import', () => {
  for (const [size, options] of Object.entries({ small, desktop }))
    browserTest(`each of its states is sound on a ${size} screen`, () =>
      visit(
        'import',
        async (opened) => {
          const { page } = opened
          await page.getByText('Choose a CSV file').waitFor()
          await assertSoundInBoth(opened, `import-choose-${size}`)
          await chooseFile(page, csv)
          await page.getByRole('button', { name: 'Add 2 animals' }).waitFor()
          await page.getByText('Photos are not imported here.', { exact: false }).waitFor()
          await assertSoundInBoth(opened, `import-preview-${size}`)
          await chooseFile(page, '"name')
          await page.getByRole('alert').waitFor()
          await assertSoundInBoth(opened, `import-error-${size}`)
          await chooseFile(page, csv)
          await page.getByRole('button', { name: /^(Add|Change)/ }).click()
          await page.getByRole('heading', { name: 'Imported' }).waitFor()
          await assertSoundInBoth(opened, `import-result-${size}`)
          await page.getByRole('button', { name: 'Import another file' }).click()
          await page.getByText('Choose a CSV file').waitFor()
        },
        options,
      ),
    )

  browserTest('it works with the keyboard alone', () =>
    visit('import', async ({ page }) => {
      const chooser = page.waitForEvent('filechooser')
      await page.getByRole('button', { name: /^Choose a CSV file/ }).focus()
      await page.keyboard.press('Enter')
      const file = {
        name: 'k.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from('Pet,Kind,Tone\nKeys,Dogs,deep'),
      }
      await (await chooser).setFiles(file)
      const tone = page.getByLabel('Tone')
      await tone.focus()
      await tone.selectOption('attributes')
      await page.getByText('3 of 3 are imported.', { exact: false }).waitFor()
      // The file was checked again, and the focus is where it was.
      await page.locator('select:focus').waitFor()
      const apply = page.getByRole('button', { name: 'Add 1 animal' })
      await apply.focus()
      await page.keyboard.press('Enter')
      await page.getByText('1 animal added', { exact: false }).waitFor()
    }),
  )

  browserTest('an import that is not finished is shown after a reload, and can be stopped', () =>
    visit('import', async ({ page }) => {
      await chooseFile(page, manyAnimals(5_000))
      await page.getByRole('button', { name: 'Add 5,000 animals' }).click()
      await page.getByRole('progressbar').waitFor()
      await page.reload()
      await page.getByRole('progressbar').waitFor()
      await page.getByText(/The file was uploaded (just now|.* ago)\./).waitFor()
      await page.getByRole('button', { name: 'Stop' }).click()
      const dialog = page.getByRole('dialog', { name: 'Stop the import?' })
      await dialog.getByRole('button', { name: 'Stop' }).click()
      await page.getByText('Choose a CSV file').waitFor()
      await importsAreDiscarded()
    }),
  )

  /** The screen changes before the import is discarded. */
  const importsAreDiscarded = () =>
    eventually('the import is discarded', async () => {
      const imports: { state: string }[] = await api('GET', '/imports')
      return imports.every(({ state }) => state === 'applied')
    })

  /** Another person has uploaded a file. Then this one chooses a file. */
  async function chooseAfterOther(page: Page) {
    await page.getByText('Choose a CSV file').waitFor()
    const other = await service.request('POST', '/v1/imports', {
      key: service.operatorKey,
      headers: { 'content-type': 'text/csv' },
      body: 'name,category\nTheirs,Dogs',
    })
    assert.equal(other.status, 201, other.text)
    await chooseFile(page, 'name,category\nMine,Dogs\nToo,Dogs')
    await page.getByText('Only one import is possible at a time.', { exact: false }).waitFor()
    return other.json.id as string
  }

  browserTest('a file that is chosen early is kept, also if another import is found then', () =>
    visit('animals', async ({ page }) => {
      const release = Promise.withResolvers<void>()
      const other = await service.request('POST', '/v1/imports', {
        key: service.operatorKey,
        headers: { 'content-type': 'text/csv' },
        body: 'name,category\nTheirs,Dogs',
      })
      await page.route('**/v1/imports', async (route) => {
        if (route.request().method() === 'GET') await release.promise
        await route.continue()
      })
      const listed = page.waitForRequest('**/v1/imports')
      await goTo(page, 'import')
      await listed
      await chooseFile(page, 'name,category\nMine,Dogs')
      const answered = page.waitForResponse('**/v1/imports')
      release.resolve()
      await answered
      await page.getByText('Only one import is possible at a time.', { exact: false }).waitFor()
      await page.getByText('animals.csv').waitFor()
      await service.request('DELETE', `/v1/imports/${other.json.id}`, { key: service.operatorKey })
    }),
  )

  browserTest('the file of another person can be shown, and stays when the screen is left', () =>
    visit('import', async (opened) => {
      const { page } = opened
      const id = await chooseAfterOther(page)
      await page.getByRole('button', { name: 'Show it' }).click()
      await page.getByText('Theirs').waitFor()
      await page.getByText(/uploaded (just now|.* ago), but not on this page/).waitFor()
      await assertSoundInBoth(opened, 'import-of-other-desktop')
      await page.setViewportSize(small.viewport)
      await assertSoundInBoth(opened, 'import-of-other-small')
      await expectEnabled(page.getByRole('button', { name: 'Add 1 animal' }), true)
      await goTo(page, 'animals')
      assert.equal((await api('GET', `/imports/${id}`)).state, 'ready')
      await goTo(page, 'import')
      await page.getByText('Theirs').waitFor()
      await page.getByRole('button', { name: 'Discard' }).click()
      await page.getByText('Choose a CSV file').waitFor()
      await importsAreDiscarded()
    }),
  )

  browserTest('the file of another person is named, and can be discarded', () =>
    visit('import', async (opened) => {
      const { page } = opened
      await chooseAfterOther(page)
      await assertSoundInBoth(opened, 'import-other')
      await page.getByRole('button', { name: 'Discard it, and check my file' }).click()
      await page.getByRole('button', { name: 'Add 2 animals' }).waitFor()
      await expectText(countOf(page, 'New'), '2')
      await goTo(page, 'animals')
    }),
  )
})
