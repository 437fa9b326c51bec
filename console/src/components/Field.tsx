import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

type FieldProps = {
  label: string
  hint?: ComponentChildren
  /** What is wrong with the value. */
  error?: string | undefined
  isOptional?: boolean
}

type ControlProps = { id: string; 'aria-describedby'?: string; 'aria-invalid'?: 'true' }

/** A label, a control, its hint and its error. */
export function Field({
  label,
  hint,
  error,
  isOptional,
  children,
}: FieldProps & { children: (control: ControlProps) => ComponentChildren }) {
  const id = useId()
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  const control: ControlProps = {
    id,
    ...(described.length > 0 && { 'aria-describedby': described.join(' ') }),
    ...(error !== undefined && { 'aria-invalid': 'true' }),
  }
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isOptional && <span class="field-optional"> (optional)</span>}
      </label>
      {children(control)}
      {error !== undefined && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {hint !== undefined && (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

type ValueProps = FieldProps & { value: string; onValue(value: string): void }

type TextFieldProps = ValueProps & {
  type?: 'text' | 'email' | 'tel' | 'url' | 'number' | 'datetime-local'
  placeholder?: string
  isMultiline?: boolean
}

export function TextField(props: TextFieldProps) {
  const { value, onValue, isMultiline, type = 'text', placeholder, ...field } = props
  const shared = { value, placeholder, autocomplete: 'off' as const, spellcheck: false }
  return (
    <Field {...field}>
      {(control) =>
        isMultiline ? (
          <textarea
            {...control}
            {...shared}
            class="input"
            rows={3}
            onInput={(event) => onValue(event.currentTarget.value)}
          />
        ) : (
          <input
            {...control}
            {...shared}
            class="input"
            {...({ type } as { type: 'text' })}
            onInput={(event) => onValue(event.currentTarget.value)}
          />
        )
      }
    </Field>
  )
}

type CheckFieldProps = {
  label: string
  hint?: string
  /** What it turns on takes effect at once. */
  isSwitch?: boolean
  isChecked: boolean
  onChecked(isChecked: boolean): void
}

/** One choice, on or off. */
export function CheckField({ label, hint, isSwitch, isChecked, onChecked }: CheckFieldProps) {
  const id = useId()
  return (
    <div>
      <label class="check">
        <input
          type="checkbox"
          role={isSwitch ? 'switch' : undefined}
          checked={isChecked}
          aria-describedby={hint === undefined ? undefined : id}
          onChange={(event) => onChecked(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      {hint !== undefined && (
        <p class="field-hint" id={id}>
          {hint}
        </p>
      )}
    </div>
  )
}

export type Option = { value: string; label: string }

export function SelectField({
  value,
  onValue,
  options,
  ...field
}: ValueProps & { options: readonly Option[] }) {
  return (
    <Field {...field}>
      {(control) => <Select {...control} value={value} onValue={onValue} options={options} />}
    </Field>
  )
}

type SelectProps = Partial<ControlProps> & {
  value: string
  onValue(value: string): void
  options: readonly Option[]
  label?: string
  /** It is a filter that is set. */
  isActive?: boolean
}

/** A select without a visible label, for toolbars. */
export function Select({ value, onValue, options, label, isActive, ...control }: SelectProps) {
  return (
    <select
      {...control}
      class={`input select ${isActive ? 'input-active' : ''}`}
      aria-label={label}
      value={value}
      onChange={(event) => onValue(event.currentTarget.value)}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  )
}
