import type { Page } from 'playwright-core'
import { browserTest, type PageVisit } from '../support/browser.ts'
import {
  assertAccessible,
  assertSound,
  assertSoundInBoth,
  choose,
  desktop,
  goTo,
  phone,
  screenshot,
} from '../support/console.ts'
import { addAnimals } from '../support/consoleData.ts'
import { useConsole } from '../support/useConsole.ts'

/** What a screen shows after a person has chosen something: dialogs, their errors, and messages. */

const { api, visit } = useConsole({}, async (test) => {
  await addAnimals(test)
  for (const path of ['animals', 'orders'])
    await test.api('POST', '/webhooks', { url: `https://partner.example/${path}`, events: ['pet.created'] })
  await test.api('PATCH', '/webhooks/1', { status: 'paused' })
})

type State = {
  name: string
  path: string
  open(page: Page, size: string): Promise<unknown>
  /** Without it, Escape closes a dialog. */
  leave?(page: Page): Promise<unknown>
}

const dialogOf = (page: Page) => page.getByRole('dialog')
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const pressInDialog = (page: Page, name: string) =>
  dialogOf(page).getByRole('button', { name, exact: true }).click()
const saveSecret = (page: Page) => pressInDialog(page, 'I have saved it')

const states: State[] = [
  {
    name: 'overview-table',
    path: 'overview',
    open: (page) => page.getByText('Show as a table').click(),
  },
  {
    name: 'animals-add-errors',
    path: 'animals',
    async open(page) {
      await press(page, 'Add animal')
      await pressInDialog(page, 'Add animal')
      await dialogOf(page).getByText('Enter a name.').waitFor()
    },
  },
  {
    name: 'animals-edit',
    path: 'animals',
    async open(page) {
      await choose(page, 'Rocky', 'Edit')
      await dialogOf(page).getByLabel('Status').waitFor()
    },
  },
  {
    name: 'order-conflict',
    path: 'animals',
    async open(page, size) {
      const name = `Willow of the ${size}`
      const { id } = await api('POST', '/pets', { name, categoryId: 1 })
      await choose(page, name, 'Place order')
      await api('POST', '/store/orders', { petId: id })
      await dialogOf(page).getByText('A colleague was faster').waitFor()
    },
  },
  {
    name: 'order-erase',
    path: 'orders',
    async open(page) {
      await choose(page, 'order 4', "Erase adopter's data")
      await dialogOf(page).waitFor()
    },
  },
  {
    name: 'orders-undo',
    path: 'orders',
    async open(page) {
      await choose(page, 'order 4', 'Cancel order')
      // The time for undoing stops while the pointer is on the message.
      await page.getByText(/^Order 4 for .* cancelled\.$/).hover()
    },
    leave: (page) => press(page, 'Undo'),
  },
  {
    name: 'category-add-error',
    path: 'categories',
    async open(page) {
      await press(page, 'Add category')
      await pressInDialog(page, 'Add category')
      await dialogOf(page).getByText('Enter a name.').waitFor()
    },
  },
  {
    name: 'key-create-custom',
    path: 'keys',
    async open(page) {
      await press(page, 'Create key')
      await dialogOf(page).getByLabel('Custom').check()
      await pressInDialog(page, 'Create key')
      await dialogOf(page).getByText('Say what the key is for.').waitFor()
    },
  },
  {
    name: 'key-secret',
    path: 'keys',
    async open(page) {
      await press(page, 'Create key')
      await dialogOf(page).getByLabel('Name').fill('Front desk')
      await pressInDialog(page, 'Create key')
      await dialogOf(page).getByText('It is shown only once').waitFor()
    },
    leave: saveSecret,
  },
  {
    name: 'key-rotate',
    path: 'keys/1',
    async open(page) {
      await press(page, 'Rotate')
      await dialogOf(page).getByLabel('Previous secret').waitFor()
    },
  },
  {
    name: 'key-revoke',
    path: 'keys/1',
    async open(page) {
      await press(page, 'Revoke')
      await dialogOf(page).getByText('This cannot be undone').waitFor()
    },
  },
  {
    name: 'webhook-register-errors',
    path: 'webhooks',
    async open(page) {
      await press(page, 'Register webhook')
      await dialogOf(page).getByLabel('Address').fill('http://example.com/hook')
      await dialogOf(page).getByLabel('pet.created').check()
      await pressInDialog(page, 'Register')
      await dialogOf(page).getByText('Must be an https address').waitFor()
    },
  },
  {
    name: 'webhook-secret',
    path: 'webhooks',
    async open(page, size) {
      await press(page, 'Register webhook')
      await dialogOf(page).getByLabel('Address').fill(`https://example.com/${size}`)
      await dialogOf(page).getByLabel('pet.created').check()
      await pressInDialog(page, 'Register')
      await dialogOf(page).getByText('It is shown only once').waitFor()
    },
    leave: saveSecret,
  },
  {
    name: 'webhook-paused',
    path: 'webhooks/1',
    open: (page) => page.getByText('Messages are queued').waitFor(),
  },
  {
    name: 'webhook-delete',
    path: 'webhooks/2',
    async open(page) {
      await press(page, 'More actions')
      await page.getByRole('menuitem', { name: 'Delete' }).click()
      await dialogOf(page).getByText('This cannot be undone').waitFor()
    },
  },
]

const navigation: State = {
  name: 'navigation',
  path: 'animals',
  async open(page) {
    await press(page, 'Open navigation')
    await page.getByRole('link', { name: 'Orders' }).waitFor()
  },
}

async function assertSoundOnPhone(opened: PageVisit, name: string) {
  await assertSound(opened)
  await assertAccessible(opened.page)
  await screenshot(opened.page, `${name}-phone`)
}

for (const [size, options] of Object.entries({ phone, desktop })) {
  browserTest(`every dialog is sound on a ${size}`, (t) =>
    visit(
      'limits',
      async (opened) => {
        const { page } = opened
        await page.locator('main.content').waitFor()
        for (const { name, path, open, leave } of size === 'phone' ? [...states, navigation] : states) {
          await t.test(name, async () => {
            await goTo(page, path)
            await open(page, size)
            // The colours do not depend on the size.
            if (size === 'desktop') await assertSoundInBoth(opened, name)
            else await assertSoundOnPhone(opened, name)
            await (leave ? leave(page) : page.keyboard.press('Escape'))
            await dialogOf(page).waitFor({ state: 'detached' })
          })
        }
      },
      options,
    ),
  )
}
