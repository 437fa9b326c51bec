/**
 * Where the key is between page loads: in sessionStorage for one tab, or in localStorage for all tabs of the device. The
 * reference reads both, see src/pages/reference.ts. A browser can block the storage. Then the session ends with the
 * document.
 */

const tabName = 'petstore.key'
const keptName = 'petstore.keptKey'
/** An entry of its own: a tab that records a use does not write the key, so it cannot restore a key that was removed. */
const usedAtName = 'petstore.keptKeyUsedAt'

export const unusedDaysMax = 30
const unusedMaxMs = unusedDaysMax * 24 * 60 * 60_000
/** Most uses write nothing. */
const recordIntervalMs = 60 * 60_000

function tryStorage<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

const read = (storage: () => Storage, name: string): string | undefined =>
  tryStorage(() => storage().getItem(name)) ?? undefined

const session = () => sessionStorage
const local = () => localStorage

export const readTabKey = (): string | undefined => read(session, tabName)

export function writeTabKey(key: string | undefined): void {
  tryStorage(() => {
    if (key === undefined) sessionStorage.removeItem(tabName)
    else sessionStorage.setItem(tabName, key)
  })
}

export type KeptKey = { readonly key: string; readonly isExpired: boolean }

/** A time in the future is as wrong as one that is long ago: the clock of the device was changed. */
const ageMs = (): number => Math.abs(Date.now() - Number(read(local, usedAtName)))

export function readKeptKey(): KeptKey | undefined {
  const key = read(local, keptName)
  return key === undefined ? undefined : { key, isExpired: !(ageMs() < unusedMaxMs) }
}

/** Returns false if the browser blocks the storage. */
export function keepKey(key: string): boolean {
  tryStorage(() => {
    localStorage.setItem(usedAtName, String(Date.now()))
    localStorage.setItem(keptName, key)
  })
  return read(local, keptName) === key
}

export function recordUse(): void {
  if (ageMs() > recordIntervalMs) tryStorage(() => localStorage.setItem(usedAtName, String(Date.now())))
}

export function forgetKeptKey(): void {
  tryStorage(() => {
    localStorage.removeItem(keptName)
    localStorage.removeItem(usedAtName)
  })
}
