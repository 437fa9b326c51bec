import { effect, signal } from '@preact/signals'
import { themeName } from '../../../src/pages/browserStorage.ts'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

function readTheme(): Theme {
  try {
    return themes.find((name) => name === localStorage.getItem(themeName)) ?? 'system'
  } catch {
    // The browser blocks the storage.
    return 'system'
  }
}

export const theme = signal<Theme>(readTheme())

effect(() => {
  const { value } = theme
  document.documentElement.dataset.theme = value
  try {
    if (value === 'system') localStorage.removeItem(themeName)
    else localStorage.setItem(themeName, value)
  } catch {
    // The choice holds for this document.
  }
})

const darkQuery = matchMedia('(prefers-color-scheme: dark)')
const systemIsDark = signal(darkQuery.matches)
darkQuery.addEventListener('change', () => {
  systemIsDark.value = darkQuery.matches
})

/** For what CSS does not style, such as a chart. */
export const isDark = (): boolean => (theme.value === 'system' ? systemIsDark.value : theme.value === 'dark')
