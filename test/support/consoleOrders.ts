import type { Page } from 'playwright-core'
import type { ConsoleTest } from './useConsole.ts'

/** What the tests of the Orders screen share. */

export const column = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
export const card = (page: Page, status: string, name: string) =>
  column(page, status).getByRole('listitem').filter({ hasText: name })

export function ordersOf({ api }: ConsoleTest) {
  const addPet = (name: string) => api('POST', '/pets', { name, categoryId: 1 })
  return {
    addPet,
    async addOrder(
      name: string,
      customer = { name: 'Ada Example', email: 'ada@example.com' },
      note = 'Has a garden.',
    ) {
      const { id: petId } = await addPet(name)
      return api('POST', '/store/orders', { petId, customer, note })
    },
    statusOf: async (orderId: number) => (await api('GET', `/store/orders/${orderId}`)).status,
  }
}
