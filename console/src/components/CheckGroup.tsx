import { useId } from 'preact/hooks'
import type { Option } from './Field.tsx'

type CheckGroupProps = {
  label: string
  hint?: string
  error?: string | undefined
  options: readonly Option[]
  values: readonly string[]
  onValues(values: string[]): void
}

/** Any number of choices. */
export function CheckGroup({ label, hint, error, options, values, onValues }: CheckGroupProps) {
  const id = useId()
  const toggle = (value: string, isChecked: boolean) =>
    // A value that is not offered stays.
    onValues(isChecked ? [...values, value] : values.filter((other) => other !== value))
  return (
    <fieldset class="check-group" aria-describedby={error === undefined ? undefined : `${id}-error`}>
      <legend>{label}</legend>
      <div class="check-options">
        {options.map((option) => (
          <label key={option.value} class="check">
            <input
              type="checkbox"
              checked={values.includes(option.value)}
              onChange={(event) => toggle(option.value, event.currentTarget.checked)}
            />
            <span>{option.label}</span>
          </label>
        ))}
      </div>
      {error !== undefined && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {hint !== undefined && <p class="field-hint">{hint}</p>}
    </fieldset>
  )
}
