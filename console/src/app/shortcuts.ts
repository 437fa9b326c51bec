import { signal } from '@preact/signals'
import { browserChoice } from './browser.ts'
import { session } from './session.ts'

/**
 * The keys `/` and `?`. They can be turned off: a person who speaks to the device, or presses keys by mistake, would use
 * them without knowing.
 */
export const shortcutChoice = browserChoice('petstore.shortcuts', ['on', 'off'])
export const isShortcutListOpen = signal(false)

/** Where the person types, or must first finish something. */
const isBusy = (target: EventTarget | null): boolean =>
  (target instanceof Element &&
    target.closest('input, select, textarea, [contenteditable], [role="menu"]') !== null) ||
  document.querySelector('dialog[open]') !== null

document.addEventListener('keydown', (event) => {
  if (shortcutChoice.value === 'off' || !session.value || event.defaultPrevented || event.isComposing) return
  if (event.ctrlKey || event.metaKey || event.altKey || isBusy(event.target)) return
  if (event.key === '?') isShortcutListOpen.value = true
  else if (event.key === '/') {
    const field = document.querySelector<HTMLInputElement>('main input[type="search"]')
    if (!field) return
    field.focus()
    field.select()
  } else return
  event.preventDefault()
})
