import type { Page } from 'playwright-core'
import type { PageVisit } from './browser.ts'
import { eventually } from './eventually.ts'
import type { ConsoleTest, VisitOptions } from './useConsole.ts'

/** What the tests of the Animals screen share. */

export async function addCategories({ api }: ConsoleTest): Promise<void> {
  await api('POST', '/categories', { name: 'Dogs' })
  await api('POST', '/categories', { name: 'Cats' })
}

export const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

export function animalsOf({ api, visit }: ConsoleTest) {
  const addPet = (name: string, fields: object = {}) =>
    api('POST', '/pets', { name, categoryId: 1, ...fields })
  return {
    addPet,
    async addProfile(name: string, profile: object, fields: object = {}) {
      const pet = await addPet(name, fields)
      await api('PATCH', `/pets/${pet.id}/profile`, profile)
      return pet
    },
    /** The index of the service is a moment behind. */
    indexed: (query: string) =>
      eventually(
        query,
        async () => (await api('GET', `/listings?view=staff&listed=any&${query}`)).length > 0,
      ),
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
