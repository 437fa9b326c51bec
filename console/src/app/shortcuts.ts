import { effect, signal } from '@preact/signals'
import { session } from './session.ts'

/**
 * The keys `/` and `?`. They can be turned off: a person who speaks to the device, or presses keys by mistake, would use
 * them without knowing.
 */

const storageName = 'petstore.shortcuts'
const offValue = 'off'

function read(): boolean {
  try {
    return localStorage.getItem(storageName) !== offValue
  } catch {
    // The browser blocks the storage.
    return true
  }
}

export const areShortcutsOn = signal(read())
export const isShortcutListOpen = signal(false)

effect(() => {
  const isOn = areShortcutsOn.value
  try {
    if (isOn) localStorage.removeItem(storageName)
    else localStorage.setItem(storageName, offValue)
  } catch {
    // The choice holds for this document.
  }
})

/** Where the person types, or must first finish something. */
const isBusy = (target: EventTarget | null): boolean =>
  (target instanceof Element &&
    target.closest('input, select, textarea, [contenteditable], [role="menu"]') !== null) ||
  document.querySelector('dialog[open]') !== null

document.addEventListener('keydown', (event) => {
  if (!areShortcutsOn.value || !session.value || event.defaultPrevented || event.isComposing) return
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
