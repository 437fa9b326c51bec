import { signal } from '@preact/signals'

/** The same width as in the stylesheets. */
const phoneQuery = matchMedia('(max-width: 640px)')

export const isPhone = signal(phoneQuery.matches)
phoneQuery.addEventListener('change', () => {
  isPhone.value = phoneQuery.matches
})
