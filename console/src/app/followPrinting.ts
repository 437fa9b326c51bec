import { isPrinting } from './printing.ts'

const set = (value: boolean): void => {
  isPrinting.value = value
}

// `beforeprint` comes early enough to render all rows before the page is printed. Some browsers have only the event,
// others only the media query.
globalThis.addEventListener('beforeprint', () => set(true))
globalThis.addEventListener('afterprint', () => set(false))
const query = matchMedia('print')
query.addEventListener('change', () => set(query.matches))
