/**
 * What the console stores in the browser and the reference reads. Both run in a browser, on the same origin, and have to
 * agree. The console imports this file.
 */

/** In sessionStorage: the key of one tab. */
export const tabKeyName = 'petstore.key'
/** In localStorage: the key of all tabs of the device. */
export const keptKeyName = 'petstore.keptKey'
/**
 * In localStorage: when the kept key was last used, in milliseconds since 1970 by the clock of the device. An entry of its
 * own: a tab that records a use does not write the key, so it cannot restore a key that was removed.
 */
export const keptKeyUsedAtName = 'petstore.keptKeyUsedAt'
/** In localStorage: `light` or `dark`. */
export const themeName = 'petstore.theme'

/** A kept key that was not used for this time has expired. */
export const unusedDaysMax = 30
export const unusedMaxMs: number = unusedDaysMax * 24 * 60 * 60_000
