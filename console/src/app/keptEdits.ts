import { type Int64, type ProfileChange, parseJson, toJson } from '../../../client/src/index.ts'
import { tryStorage } from './browser.ts'

/**
 * What was typed into the profiles of animals and was not saved when the page was closed. It is in localStorage until the
 * animal is opened again, or until the person signs out.
 */

export type Edit = {
  /** The value that the person saw before the first change. */
  readonly base: unknown
  readonly value: unknown
  /** What was sent and may have been saved, because its response is not known. */
  readonly sent: readonly unknown[]
}

type Edits = readonly (readonly [keyof ProfileChange, Edit])[]

const entryName = 'petstore.unsaved'
const animalsMax = 20

const read = (): (readonly [Int64, Edits])[] =>
  tryStorage(() => parseJson(localStorage.getItem(entryName) ?? '[]') as [Int64, Edits][]) ?? []

export function keepEdits(petId: Int64, edits: Edits): void {
  if (edits.length === 0) return
  const kept = [...read().filter(([id]) => id !== petId), [petId, edits]]
  tryStorage(() => localStorage.setItem(entryName, toJson(kept.slice(-animalsMax))))
}

/** Returns what is kept of an animal, and removes it. */
export function takeEdits(petId: Int64): Edits {
  const all = read()
  const others = all.filter(([id]) => id !== petId)
  if (others.length === 0) forgetEdits()
  else tryStorage(() => localStorage.setItem(entryName, toJson(others)))
  return all.find(([id]) => id === petId)?.[1] ?? []
}

export function forgetEdits(): void {
  tryStorage(() => localStorage.removeItem(entryName))
}
