import { useState } from 'preact/hooks'
import type { Fee } from '../../../../../client/src/index.ts'
import { Field, Select } from '../../../components/Field.tsx'
import { type ControlProps, fieldOf, inputOf } from './control.ts'
import { useText } from './useText.ts'

const defaultCurrency = 'EUR'
const currencies = Intl.supportedValuesOf('currency').map((code) => ({ value: code, label: code }))

/** How many digits of an amount are after the point: 2 for EUR, 0 for JPY. */
const digitsOf = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2

/** "150", "150.50" */
function formatAmount({ amount, currency }: Fee): string {
  const digits = digitsOf(currency)
  const text = (amount / 10 ** digits).toFixed(digits)
  return text.replace(/\.0+$/, '')
}

export const formatFee = (fee: Fee): string =>
  fee.amount === 0 ? 'Free' : `${formatAmount(fee)} ${fee.currency}`

function parseAmount(text: string, currency: string): Fee | null | undefined {
  const trimmed = text.trim().replace(',', '.')
  if (trimmed === '') return null
  const digits = digitsOf(currency)
  const [, decimals = ''] = trimmed.split('.')
  if (!/^\d{1,9}(\.\d*)?$/.test(trimmed) || decimals.length > digits) return undefined
  return { amount: Math.round(Number(trimmed) * 10 ** digits), currency }
}

export function FeeControl(props: ControlProps<Fee | null>) {
  const { value, onValue } = props
  const [chosen, setChosen] = useState(defaultCurrency)
  const currency = value?.currency ?? chosen
  const state = useText(
    value,
    (fee) => (fee ? formatAmount(fee) : ''),
    (text) => parseAmount(text, currency),
    onValue,
  )
  const setCurrency = (next: string) => {
    setChosen(next)
    const fee = parseAmount(state.text, next)
    if (fee) onValue(fee)
  }
  const invalid = state.isInvalid ? 'Enter an amount such as 150 or 150.50.' : undefined
  return (
    <Field {...fieldOf(props as ControlProps<never>, invalid)}>
      {(control) => (
        <div class="fee">
          <input {...control} {...inputOf(state)} type="text" inputMode="decimal" autocomplete="off" />
          <Select label="Currency of the fee" value={currency} onValue={setCurrency} options={currencies} />
        </div>
      )}
    </Field>
  )
}
