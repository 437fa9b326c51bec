import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import type { PageVisit } from './browser.ts'
import { jpeg } from './images.ts'
import type { ConsoleTest, VisitOptions } from './useConsole.ts'

/** What the tests of the page of an animal share. */

/** A part of the page, by its heading. */
export const part = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

export function animalPageOf({ api, service, visit }: ConsoleTest) {
  return {
    profileOf: (id: number) => api('GET', `/pets/${id}/profile?view=staff`),
    photosOf: (id: number) => api('GET', `/pets/${id}/photos?view=staff`),
    async addPet(name: string, profile: object = {}): Promise<number> {
      const { id } = await api('POST', '/pets', { name, categoryId: 1 })
      await api('PATCH', `/pets/${id}/profile`, profile)
      return id
    },
    async addPhoto(id: number, alt: string): Promise<void> {
      const headers = { Authorization: `Bearer ${service.operatorKey}`, 'Content-Type': 'image/jpeg' }
      const body = new Uint8Array(await jpeg(320, 240))
      const response = await fetch(`${service.base}/v1/pets/${id}/photos`, { method: 'POST', headers, body })
      assert.equal(response.status, 201)
      const photo = (await response.json()) as { id: string }
      await api('PATCH', `/pets/${id}/photos/${photo.id}`, { alt })
    },
    /** Opens the page of an animal. */
    withPage: (id: number, run: (opened: PageVisit) => Promise<void>, options: VisitOptions = {}) =>
      visit(
        `animals/${id}`,
        async (opened) => {
          await part(opened.page, 'Description').waitFor()
          await run(opened)
        },
        options,
      ),
  }
}

/** The alternative texts of the photos, in order. */
export const photoTexts = (page: Page) =>
  page
    .getByRole('button', { name: /^Photo \d+: / })
    .evaluateAll((tiles) =>
      tiles.map((tile) => (tile as unknown as { ariaLabel: string }).ariaLabel.split(': ')[1]),
    )

/** Chooses files as photos. */
export async function chooseFiles(
  page: Page,
  files: readonly { name: string; mimeType: string; buffer: Buffer }[],
): Promise<void> {
  const chooser = page.waitForEvent('filechooser')
  await part(page, 'Photos').getByRole('button', { name: 'Add photos' }).click()
  await (await chooser).setFiles([...files])
}
