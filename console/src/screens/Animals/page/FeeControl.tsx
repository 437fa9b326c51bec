import { useEffect, useState } from 'preact/hooks'
import type { Fee } from '../../../../../client/src/index.ts'
import { Field, Select } from '../../../components/Field.tsx'
import { type ControlProps, fieldOf, inputOf } from './control.ts'
import { currencyOptions } from './currencies.ts'
import { useText } from './useText.ts'

/** The currency of the last fee that was shown, for the next animal. */
let lastCurrency = ''

/** How many digits of an amount are after the point: 2 for EUR, 0 for JPY. */
const digitsOf = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2

/** "150", "150.50" */
export function formatAmount({ amount, currency }: Fee): string {
  const digits = digitsOf(currency)
  const text = (amount / 10 ** digits).toFixed(digits)
  return text.replace(/\.0+$/, '')
}

export const formatFee = (fee: Fee): string =>
  fee.amount === 0 ? 'Free' : `${formatAmount(fee)} ${fee.currency}`

function parseAmount(text: string, currency: string): Fee | null | undefined {
  const trimmed = text.trim().replace(',', '.')
  if (trimmed === '') return null
  if (currency === '') return undefined
  const digits = digitsOf(currency)
  const [, decimals = ''] = trimmed.split('.')
  if (!/^\d{1,9}(\.\d*)?$/.test(trimmed) || decimals.length > digits) return undefined
  return { amount: Math.round(Number(trimmed) * 10 ** digits), currency }
}

export function FeeControl(props: ControlProps<Fee | null>) {
  const { value, onValue } = props
  const [chosen, setChosen] = useState(lastCurrency)
  const currency = value?.currency ?? chosen
  useEffect(() => {
    if (!value) return
    lastCurrency = value.currency
    setChosen(value.currency)
  }, [value?.currency])
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
  const advice = currency === '' ? 'Choose a currency.' : 'Enter an amount such as 150 or 150.50.'
  return (
    <Field {...fieldOf(props as ControlProps<never>, state.isInvalid ? advice : undefined)}>
      {(control) => (
        <div class="fee">
          <input {...control} {...inputOf(state)} type="text" inputMode="decimal" autocomplete="off" />
          <Select
            label="Currency of the fee"
            value={currency}
            onValue={setCurrency}
            options={currencyOptions(currency)}
          />
        </div>
      )}
    </Field>
  )
}
