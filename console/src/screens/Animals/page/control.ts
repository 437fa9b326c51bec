import type { FieldSpec } from './fields.ts'
import type { TextState } from './useText.ts'

/** What the controls of a profile share. Each shows a value of the API, and null is unknown. */

export type ControlProps<T = unknown> = {
  spec: FieldSpec
  value: T
  error: string | undefined
  onValue(value: T): void
  /** The birth date decides the age group. */
  isComputed: boolean
}

/** The parts of a field that every control shows. */
export const fieldOf = ({ spec, error }: ControlProps<never>, invalid?: string) => ({
  label: spec.label,
  ...(spec.hint !== undefined && { hint: spec.hint }),
  error: invalid ?? error,
})

/** What an input and a textarea share. */
export const inputOf = ({ text, onText, settle }: TextState) => ({
  class: 'input',
  value: text,
  onInput: (event: { currentTarget: { value: string } }) => onText(event.currentTarget.value),
  onBlur: settle,
})
