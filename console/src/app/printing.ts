import { signal } from '@preact/signals'

/** While the page is printed. A table then has all rows that are in memory in the document. */
export const isPrinting = signal(false)

export function followPrinting(): void {
  const query = matchMedia('print')
  const set = (value: boolean) => () => {
    isPrinting.value = value
  }
  // The event is early enough for the rows to be in the document. Not every browser has both.
  globalThis.addEventListener('beforeprint', set(true))
  globalThis.addEventListener('afterprint', set(false))
  query.addEventListener('change', () => set(query.matches)())
}
