import { signal } from '@preact/signals'

/** While the page is printed. A table then has all rows that are in memory in the document. */
export const isPrinting = signal(false)
