import { effect } from '@preact/signals'
import { themeName } from '../../../src/pages/browserStorage.ts'
import { browserChoice, mediaSignal } from './browser.ts'

export const themes = ['system', 'light', 'dark'] as const

export const theme = browserChoice(themeName, themes)

effect(() => {
  document.documentElement.dataset.theme = theme.value
})

const isSystemDark = mediaSignal('(prefers-color-scheme: dark)')

/** For what CSS does not style, such as a chart. */
export const isDark = (): boolean => (theme.value === 'system' ? isSystemDark.value : theme.value === 'dark')
