import { ValueError } from './values.ts'

/** The dollar is the currency of many countries, so its sign says nothing. */
const signs: Readonly<Record<string, string | undefined>> = { '€': 'EUR', '£': 'GBP', $: undefined }
const amount = /^([A-Z]{3}|[€£$])?\s*(\d[\d.,' ]{0,15}?)\s*([A-Z]{3}|[€£$])?$/i
const freeWords = /^(?:free|waived|fee waived|no fee|none)$/i

/** The code of a currency. Undefined for another text. */
export function parseCurrency(text: string): string | undefined {
  const code = text.toUpperCase()
  return Intl.supportedValuesOf('currency').includes(code) ? code : undefined
}

/** An amount such as "$150", "150.00", "EUR 1.250,00" or "free", in the smallest unit of its currency. */
export function parseFee(
  text: string,
  givenCurrency: string | undefined,
): { amount: number; currency: string } {
  const [, before, digits, after] = freeWords.test(text) ? ['', '', '0', ''] : (amount.exec(text) ?? [])
  const value = digits === undefined ? undefined : toNumber(digits)
  if (value === undefined) throw new ValueError('must be an amount such as 150 or 150.00 EUR')
  const sign = before || after || '$'
  const currency = (sign in signs ? (signs[sign] ?? givenCurrency) : sign)?.toUpperCase()
  if (currency === undefined)
    throw new ValueError('must have a currency such as EUR, unless the currency is given')
  return { amount: minorUnits(value, currency), currency }
}

/** The last separator is the decimal point if one or two digits follow it. Undefined for other texts. */
function toNumber(digits: string): number | undefined {
  const [, whole = '', fraction = ''] = /^(.*?)(?:[.,](\d{1,2}))?$/.exec(digits.replaceAll(/[' ]/g, '')) ?? []
  if (!/^\d{1,3}(?:[.,]\d{3})*$|^\d+$/.test(whole)) return undefined
  return Number(`${whole.replaceAll(/[.,]/g, '')}.${fraction || 0}`)
}

function minorUnits(value: number, currency: string): number {
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
  }).resolvedOptions()
  return Math.round(value * 10 ** digits)
}
