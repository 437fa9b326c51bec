import type { ComponentType } from 'preact'
import { CheckField, Field, type Option, SelectField } from '../../../components/Field.tsx'
import { Segments } from '../../../components/Segments.tsx'
import { AttributesControl } from './AttributesControl.tsx'
import { BondedControl } from './BondedControl.tsx'
import { type ControlProps, fieldOf, inputOf } from './control.ts'
import { FeeControl } from './FeeControl.tsx'
import { companionNames, compatibilityOptions, type FieldSpec, flagOptions } from './fields.ts'
import { useText } from './useText.ts'

const formatText = (value: string | null) => value ?? ''
/** The intake number can have a source or none, which is empty text. */
const parseText = (text: string): string | null => (text.trim() === '' ? null : text.trim())

function TextControl(props: ControlProps<string | null>) {
  const { spec, value, onValue } = props
  const parse = (text: string) => {
    const parsed = spec.name === 'species' ? (parseText(text)?.toLowerCase() ?? null) : parseText(text)
    return spec.name === 'source' ? (parsed ?? '') : parsed
  }
  const state = useText(value, formatText, parse, onValue)
  return (
    <Field {...fieldOf(props as ControlProps<never>)}>
      {(control) => (
        <input
          {...control}
          {...inputOf(state)}
          {...({ type: spec.inputType ?? 'text' } as { type: 'text' })}
          placeholder={spec.placeholder}
          autocomplete="off"
        />
      )}
    </Field>
  )
}

function LongTextControl(props: ControlProps<string | null>) {
  const { spec, value, onValue } = props
  const state = useText(value, formatText, (text) => (text.trim() === '' ? null : text), onValue)
  return (
    <Field {...fieldOf(props as ControlProps<never>)}>
      {(control) => (
        <textarea
          {...control}
          {...inputOf(state)}
          class="input input-long"
          rows={spec.rows ?? 3}
          style={{ minHeight: `${(spec.rows ?? 3) * 1.5 + 1.2}em` }}
          placeholder={spec.placeholder}
        />
      )}
    </Field>
  )
}

function ListControl(props: ControlProps<readonly string[]>) {
  const parse = (text: string) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
  const state = useText(props.value, (values) => values.join(', '), parse, props.onValue)
  return (
    <Field {...fieldOf(props as ControlProps<never>)}>
      {(control) => <input {...control} {...inputOf(state)} type="text" autocomplete="off" />}
    </Field>
  )
}

function NumberControl(props: ControlProps<number | null>) {
  const parse = (text: string) => {
    if (text.trim() === '') return null
    return /^\d{1,4}$/.test(text.trim()) ? Number(text) : undefined
  }
  const state = useText(props.value, (value) => (value === null ? '' : String(value)), parse, props.onValue)
  return (
    <Field {...fieldOf(props as ControlProps<never>, state.isInvalid ? 'Enter a whole number.' : undefined)}>
      {(control) => <input {...control} {...inputOf(state)} type="text" inputMode="numeric" />}
    </Field>
  )
}

function DateControl(props: ControlProps<string | null>) {
  return (
    <Field {...fieldOf(props as ControlProps<never>)}>
      {(control) => (
        <input
          {...control}
          class="input"
          type="date"
          value={props.value ?? ''}
          onInput={({ currentTarget }) => {
            // A date that is partly typed has no value.
            if (!currentTarget.validity.badInput) props.onValue(currentTarget.value || null)
          }}
        />
      )}
    </Field>
  )
}

function ChoiceControl(props: ControlProps<string | null>) {
  const { spec, value, onValue, isComputed } = props
  if (isComputed)
    return (
      <Field {...fieldOf(props as ControlProps<never>)} hint="By the birth date.">
        {(control) => <input {...control} class="input" readOnly value={nameIn(spec.options, value)} />}
      </Field>
    )
  return (
    <SelectField
      {...fieldOf(props as ControlProps<never>)}
      value={value ?? ''}
      onValue={(next) => onValue(next === '' ? null : next)}
      options={spec.options ?? []}
    />
  )
}

const nameIn = (options: readonly Option[] = [], value: string | null): string =>
  options.find((option) => option.value === (value ?? ''))?.label ?? ''

type SegmentsFieldProps = {
  label: string
  error?: string | undefined
  options: readonly Option[]
  value: string
  onValue(value: string): void
}

/** A choice of a few with a visible label. */
const SegmentsField = ({ label, error, ...rest }: SegmentsFieldProps) => (
  <div class="field">
    <span class="field-name" aria-hidden="true">
      {label}
    </span>
    <Segments label={label} class="segments-even" {...rest} />
    {error !== undefined && <p class="field-error">{error}</p>}
  </div>
)

const flagValue = (value: boolean | null) => (value === null ? '' : value ? 'yes' : 'no')

const FlagControl = ({ spec, value, error, onValue }: ControlProps<boolean | null>) => (
  <SegmentsField
    label={spec.label}
    error={error}
    options={flagOptions}
    value={flagValue(value)}
    onValue={(next) => onValue(next === '' ? null : next === 'yes')}
  />
)

const ListedControl = ({ spec, value, onValue }: ControlProps<boolean>) => (
  <CheckField
    label={spec.label}
    {...(spec.hint !== undefined && { hint: spec.hint })}
    isChecked={value}
    onChecked={onValue}
  />
)

const GoodWithControl = ({ value, error, onValue }: ControlProps<Record<string, string | null>>) => (
  <div class="profile-fields">
    {companionNames.map(({ name, label }) => (
      <SegmentsField
        key={name}
        label={label}
        error={error}
        options={compatibilityOptions}
        value={value[name] ?? ''}
        onValue={(next) => onValue({ ...value, [name]: next === '' ? null : next })}
      />
    ))}
  </div>
)

/** The controls by kind of field. */
export const controls = {
  text: TextControl,
  long: LongTextControl,
  list: ListControl,
  date: DateControl,
  number: NumberControl,
  flag: FlagControl,
  choice: ChoiceControl,
  listed: ListedControl,
  goodWith: GoodWithControl,
  fee: FeeControl,
  bonded: BondedControl,
  attributes: AttributesControl,
} as Readonly<Record<FieldSpec['kind'], ComponentType<ControlProps>>>
