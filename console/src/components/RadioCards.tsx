import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

type RadioCardsProps<Name extends string> = {
  label: string
  options: readonly { value: Name; label: string; text: string }[]
  value: NoInfer<Name>
  onValue(value: Name): void
  /** What the choice means, below the options. */
  hint?: ComponentChildren
}

/** One of several choices that need a sentence each. */
export function RadioCards<Name extends string>(props: RadioCardsProps<Name>) {
  const { label, options, value, onValue, hint } = props
  const id = useId()
  return (
    <fieldset class="check-group">
      <legend>{label}</legend>
      <div class="radio-cards">
        {options.map((option) => (
          <label key={option.value} class="radio-card">
            <input
              type="radio"
              name={id}
              value={option.value}
              checked={option.value === value}
              aria-describedby={`${id}-${option.value}`}
              aria-label={option.label}
              onChange={() => onValue(option.value)}
            />
            <span>
              <strong>{option.label}</strong>
              <span id={`${id}-${option.value}`}>{option.text}</span>
            </span>
          </label>
        ))}
      </div>
      {hint && (
        <p class="field-hint" aria-live="polite">
          {hint}
        </p>
      )}
    </fieldset>
  )
}
