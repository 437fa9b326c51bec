import { isPrinting } from './printing.ts'

const set = (value: boolean): void => {
  isPrinting.value = value
}

// The event is early enough for the rows to be in the document. Not every browser has both.
globalThis.addEventListener('beforeprint', () => set(true))
globalThis.addEventListener('afterprint', () => set(false))
const query = matchMedia('print')
query.addEventListener('change', () => set(query.matches))
