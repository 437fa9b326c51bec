import type { Page } from 'playwright-core'

/** What the tests of the Import screen share. */

const csvFile = (text: string, name = 'animals.csv') => ({
  name,
  mimeType: 'text/csv',
  buffer: Buffer.from(text),
})

export const chooseFile = (page: Page, text: string, name?: string) =>
  page.getByLabel('CSV file').setInputFiles(csvFile(text, name))

/** The number under a name in the preview. */
export const countOf = (page: Page, name: string) =>
  page.locator('.import-counts > div').filter({ hasText: name }).locator('dd')

export const manyAnimals = (count: number) =>
  `external id,name,category\n${Array.from({ length: count }, (_, at) => `N-${at},Pet ${at},Dogs`).join('\n')}`
