import { mediaSignal } from './browser.ts'

/** The same width as in the stylesheets. */
export const isPhone = mediaSignal('(max-width: 640px)')
