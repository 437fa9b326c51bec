import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import type { PageVisit } from './browser.ts'
import { eventuallyHolds } from './eventually.ts'
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
export const expectPhotos = (page: Page, texts: readonly string[]) =>
  eventuallyHolds(async () => {
    const tiles = page.getByRole('button', { name: /^Photo \d+: / })
    const found = await tiles.evaluateAll((all) =>
      all.map((tile) => (tile as unknown as { ariaLabel: string }).ariaLabel.split(': ')[1]),
    )
    assert.deepEqual(found, texts)
  })

type ChosenFile = { readonly name: string; readonly mimeType: string; readonly buffer: Buffer }

/** Chooses files as photos. */
export async function chooseFiles(page: Page, files: readonly ChosenFile[]): Promise<void> {
  const chooser = page.waitForEvent('filechooser')
  await part(page, 'Photos').getByRole('button', { name: 'Add photos' }).click()
  await (await chooser).setFiles([...files])
}

/** Drops files on an element, as from another window. */
export async function dropFiles(target: Locator, files: readonly ChosenFile[]): Promise<void> {
  const contents = files.map(({ name, mimeType, buffer }) => [name, mimeType, buffer.toString('base64')])
  const dataTransfer = await target.page().evaluateHandle(`{
    const dataTransfer = new DataTransfer()
    for (const [name, type, content] of ${JSON.stringify(contents)})
      dataTransfer.items.add(new File([Uint8Array.fromBase64(content)], name, { type }))
    dataTransfer
  }`)
  for (const type of ['dragenter', 'dragover', 'drop']) await target.dispatchEvent(type, { dataTransfer })
}
