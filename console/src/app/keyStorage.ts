import { keptKeyName, keptKeyUsedAtName, tabKeyName, unusedMaxMs } from '../../../src/pages/browserStorage.ts'
import { tryStorage } from './browser.ts'

/**
 * Where the key is between page loads: in sessionStorage for one tab, or in localStorage for all tabs of the device. The
 * reference reads both, see src/pages/referenceScript.ts. A browser can block the storage. Then the session ends with the
 * document.
 */

/** Most uses write nothing. */
const recordIntervalMs = 60 * 60_000

const read = (storage: () => Storage, name: string): string | undefined =>
  tryStorage(() => storage().getItem(name)) ?? undefined

const session = () => sessionStorage
const local = () => localStorage

export const readTabKey = (): string | undefined => read(session, tabKeyName)

export function writeTabKey(key: string | undefined): void {
  tryStorage(() => {
    if (key === undefined) sessionStorage.removeItem(tabKeyName)
    else sessionStorage.setItem(tabKeyName, key)
  })
}

type KeptKey = { readonly key: string; readonly isExpired: boolean }

/** A time in the future is as wrong as one that is long ago: the clock of the device was changed. */
const ageMs = (): number => Math.abs(Date.now() - Number(read(local, keptKeyUsedAtName)))

export function readKeptKey(): KeptKey | undefined {
  const key = read(local, keptKeyName)
  return key === undefined ? undefined : { key, isExpired: !(ageMs() < unusedMaxMs) }
}

/** Returns false if the browser blocks the storage. */
export function keepKey(key: string): boolean {
  tryStorage(() => {
    localStorage.setItem(keptKeyUsedAtName, String(Date.now()))
    localStorage.setItem(keptKeyName, key)
  })
  return read(local, keptKeyName) === key
}

export function recordUse(): void {
  if (ageMs() > recordIntervalMs)
    tryStorage(() => localStorage.setItem(keptKeyUsedAtName, String(Date.now())))
}

export function forgetKeptKey(): void {
  tryStorage(() => {
    localStorage.removeItem(keptKeyName)
    localStorage.removeItem(keptKeyUsedAtName)
  })
}
