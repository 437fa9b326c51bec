type SegmentsProps<Name extends string> = {
  label: string
  options: readonly { value: Name; label: string }[]
  value: NoInfer<Name>
  onValue(value: Name): void
}

/** A choice of a few, of which one is always chosen. */
export const Segments = <Name extends string>({ label, options, value, onValue }: SegmentsProps<Name>) => (
  <fieldset class="segments">
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
