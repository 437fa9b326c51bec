import type { Page } from '../../../client/src/index.ts'
import { formatCsvRecord, markFormula } from '../../../src/imports/csv/csv.ts'
import { now } from './clock.ts'
import { toRequestError } from './errors.ts'
import { formatCount, pluralize } from './format.ts'
import { showToast } from './toasts.ts'

/** Bounds memory and requests. The command line exports more. */
const rowsMax = 50_000
/** As many as a page of the API can have. */
export const exportPageSize = 100
const limitWaitMaxMs = 120_000

type Cell = string | number | bigint | boolean | null | undefined
/** The heading of a column, and its cell in the row of an item. */
export type CsvColumn<T> = readonly [heading: string, cellOf: (item: T) => Cell]

type CsvExport<T> = {
  /** The name of the file, without its ending. */
  readonly name: string
  readonly noun: string
  readonly columns: readonly CsvColumn<T>[]
  load(cursor: string | undefined): Promise<Pick<Page<T>, 'items' | 'nextCursor'>>
}

/** Loads all pages of a list, and saves them as a file for spreadsheets. */
export async function exportCsv<T>({ name, noun, columns, load }: CsvExport<T>): Promise<void> {
  const dismiss = showToast(`The ${noun}s are being exported.`, { durationMs: limitWaitMaxMs })
  try {
    const lines = [formatCsvRecord(columns.map(([heading]) => heading))]
    let cursor: string | undefined
    do {
      const page = await loadWhenAllowed(() => load(cursor))
      for (const item of page.items)
        lines.push(formatCsvRecord(columns.map(([, cellOf]) => textOf(cellOf(item)))))
      cursor = page.nextCursor
    } while (cursor !== undefined && lines.length <= rowsMax)
    save(`${name}.csv`, lines)
    const all = cursor === undefined ? '' : ` There are more: "petstore export" exports all.`
    showToast(`${pluralize(lines.length - 1, noun)} exported.${all}`)
  } finally {
    dismiss()
  }
}

/** Waits for the end of a rate limit, so that a long list can be exported. */
async function loadWhenAllowed<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load()
    } catch (thrown) {
      const { isLimited, retryAt, code } = toRequestError(thrown)
      const waitMs = Math.max((retryAt ?? Number.POSITIVE_INFINITY) - now(), 1_000)
      if (!isLimited || code === 'key_banned' || waitMs > limitWaitMaxMs) throw thrown
      showToast(
        `The rate limit is reached. The export continues in ${formatCount(Math.ceil(waitMs / 1000))} seconds.`,
      )
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }
}

/** A spreadsheet must not evaluate a text as a formula. Numbers stay as they are. */
function textOf(cell: Cell): string {
  if (typeof cell === 'string') return markFormula(cell)
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no'
  return String(cell ?? '')
}

function save(name: string, lines: readonly string[]): void {
  // Without the byte order mark, some spreadsheets read the text in another encoding.
  const url = URL.createObjectURL(new Blob([`\ufeff${lines.join('\r\n')}\r\n`], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
