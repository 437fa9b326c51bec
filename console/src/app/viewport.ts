import { mediaSignal } from './browser.ts'

/** The same width as in the stylesheets. */
export const isPhone = mediaSignal('(max-width: 640px)')
/** A finger, not a mouse. */
export const isTouch = mediaSignal('(pointer: coarse)')
