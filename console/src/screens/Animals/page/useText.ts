import { useState } from 'preact/hooks'
import { isSame } from './profileDraft.ts'

export type TextState = {
  readonly text: string
  /** The text is not a value. */
  readonly isInvalid: boolean
  onText(text: string): void
  /** Shows the value as it is written, after the person has left the field. */
  settle(): void
}

/**
 * What is typed for a value, such as "12." for 12. It is shown as long as it means the current value, so a change by others
 * is seen, and a save does not move the cursor. `parse` returns undefined for a text that is no value.
 */
export function useText<T>(
  value: T,
  format: (value: T) => string,
  parse: (text: string) => T | undefined,
  onValue: (value: T) => void,
): TextState {
  const [typed, setTyped] = useState<string>()
  const parsed = typed === undefined ? undefined : parse(typed)
  const isInvalid = typed !== undefined && parsed === undefined
  const isShown = typed !== undefined && (isInvalid || isSame(parsed, value))
  return {
    text: isShown ? typed : format(value),
    isInvalid,
    onText(text) {
      setTyped(text)
      const next = parse(text)
      if (next !== undefined) onValue(next)
    },
    settle() {
      if (!isInvalid) setTyped(undefined)
    },
  }
}
