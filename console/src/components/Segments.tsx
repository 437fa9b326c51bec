import type { ComponentChildren } from 'preact'

type SegmentsProps<Name extends string> = {
  label: string
  options: readonly { value: Name; label: ComponentChildren }[]
  value: NoInfer<Name>
  onValue(value: Name): void
  class?: string
}

/** A choice of a few, of which one is always chosen. */
export const Segments = <Name extends string>({
  label,
  options,
  value,
  onValue,
  class: more,
}: SegmentsProps<Name>) => (
  <fieldset class={`segments ${more ?? ''}`}>
    <legend class="visually-hidden">{label}</legend>
    {options.map((option) => (
      <button
        key={option.value}
        type="button"
        aria-pressed={option.value === value}
        onClick={() => onValue(option.value)}
      >
        {option.label}
      </button>
    ))}
  </fieldset>
)
