import type { Option } from '../../../components/Field.tsx'

/** The money of countries today, by ISO 4217. `Intl` also has old money, metals and units of account. */
const codes =
  'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF ' +
  'CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG ' +
  'HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA ' +
  'MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD ' +
  'RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX ' +
  'USD UYU UZS VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG'
const names = new Intl.DisplayNames('en', { type: 'currency' })

const optionOf = (code: string): Option => ({
  value: code,
  label: code === '' ? 'Currency' : `${code} ${names.of(code)}`,
})

const known = codes.split(' ').filter((code) => Intl.supportedValuesOf('currency').includes(code))
const options = known.map(optionOf)

/** The choices, with the one that is set even if it is none of them. */
export const currencyOptions = (current: string): readonly Option[] =>
  known.includes(current) ? options : [optionOf(current), ...options]
