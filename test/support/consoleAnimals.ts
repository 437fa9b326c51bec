import type { Page } from 'playwright-core'
import type { PageVisit } from './browser.ts'
import type { ConsoleTest, VisitOptions } from './useConsole.ts'

/** What the tests of the Animals screen share. */

export async function addCategories({ api }: ConsoleTest): Promise<void> {
  await api('POST', '/categories', { name: 'Dogs' })
  await api('POST', '/categories', { name: 'Cats' })
}

export const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

export function animalsOf({ api, visit }: ConsoleTest) {
  return {
    addPet: (name: string, fields: object = {}) => api('POST', '/pets', { name, categoryId: 1, ...fields }),
    statusOf: async (id: number) => (await api('GET', `/pets?id=${id}`))[0]?.status,
    /** Opens the Animals screen. */
    withAnimals: (run: (opened: PageVisit) => Promise<void>, options: VisitOptions = {}) =>
      visit(
        'animals',
        async (opened) => {
          await opened.page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
          await run(opened)
        },
        options,
      ),
  }
}
