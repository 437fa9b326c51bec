/** Dates and ages as people write them. */

export const dateOrders = ['dmy', 'mdy', 'ymd'] as const
export type DateOrder = (typeof dateOrders)[number]

/** A date such as 2026-01-31. */
export type ApproximateDate = { readonly date: string; readonly toleranceDays: number }

const dayMs = 24 * 60 * 60 * 1000
const yearMin = 1900
const yearMax = 2100
const months = 'january february march april may june july august september october november december'.split(
  ' ',
)

/** Undefined for a day that does not exist. */
function dateOf(year: number, month: number, day: number): string | undefined {
  const date = new Date(Date.UTC(year, month - 1, day))
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  return isReal && year >= yearMin && year <= yearMax ? date.toISOString().slice(0, 10) : undefined
}

/** Years of two digits are not in the future. */
function fullYear(text: string, now: number): number {
  const year = Number(text)
  if (text.length > 2) return year
  const current = new Date(now).getUTCFullYear()
  return year <= current % 100 ? current - (current % 100) + year : current - (current % 100) - 100 + year
}

/** Also of a name that is cut off. 0 for other words. */
const monthNumber = (name: string): number =>
  months.findIndex((month) => month.startsWith(name.toLowerCase().replace('sept', 'sep'))) + 1

/** Reads a date. Undefined if it is none, or if the order of its numbers is not known. A time after it is ignored. */
export function parseDate(text: string, order: DateOrder | undefined, now: number): string | undefined {
  const date = text.replace(/[T ]\d{1,2}:\d{2}.*$/, '').trim()
  const numbers = /^(\d{1,4})[-/. ]+(\d{1,2})[-/. ]+(\d{1,4})\.?$/.exec(date)?.slice(1)
  if (numbers) {
    const [first = '', second = '', third = ''] = numbers
    if (first.length === 4 || order === 'ymd')
      return dateOf(fullYear(first, now), Number(second), Number(third))
    if (order === undefined) return undefined
    const [day, month] = order === 'dmy' ? [first, second] : [second, first]
    return dateOf(fullYear(third, now), Number(month), Number(day))
  }
  const named = /^(\d{1,2})(?:st|nd|rd|th)?[-/. ]+([a-z]{3,9})[-/., ]+(\d{2}|\d{4})$/i.exec(date)
  if (named) return dateOf(fullYear(named[3] ?? '', now), monthNumber(named[2] ?? ''), Number(named[1]))
  const american = /^([a-z]{3,9})[-/. ]+(\d{1,2})(?:st|nd|rd|th)?[-/., ]+(\d{2}|\d{4})$/i.exec(date)
  if (american)
    return dateOf(fullYear(american[3] ?? '', now), monthNumber(american[1] ?? ''), Number(american[2]))
  return undefined
}

/** A month or a year alone: the middle of it. */
export function parsePartOfDate(text: string): ApproximateDate | undefined {
  const year = /^(\d{4})$/.exec(text)?.[1]
  if (year) return approximate(dateOf(Number(year), 7, 1), 'year')
  const [, name = '', ofName] = /^([a-z]{3,9})[-/., ]+(\d{4})$/i.exec(text) ?? []
  const [, number, ofNumber] = /^(\d{1,2})[-/.](\d{4})$/.exec(text) ?? []
  return approximate(
    dateOf(Number(ofName ?? ofNumber), name === '' ? Number(number) : monthNumber(name), 15),
    'month',
  )
}

const toleranceDays = { year: 380, month: 45, week: 14, day: 7 }
type Unit = keyof typeof toleranceDays

const approximate = (date: string | undefined, unit: Unit): ApproximateDate | undefined =>
  date === undefined ? undefined : { date, toleranceDays: toleranceDays[unit] }

const units: Readonly<Record<string, Unit>> = { y: 'year', m: 'month', w: 'week', d: 'day' }
const number = '\\d{1,3}(?:[.,]\\d{1,2})?'
const unitNames = 'years?|yrs?|y|months?|mths?|mos?|m|weeks?|wks?|w|days?|d'
const agePart = new RegExp(
  `(${number})(?:\\s*(?:-|–|to)\\s*(${number}))?\\s*\\+?\\s*(${unitNames})(?![a-z])`,
  'gi',
)
const fillers = /\b(?:about|approximately|approx|around|ca|circa|est|old|and|of age)\b|[~+,./\s]/gi
const yearsMax = 200

/** Reads an age such as "2Y/ 4M/ 26D", "8 weeks" or "about 3 years old", and numbers of years. Undefined for other texts. */
export function parseAge(text: string, now: number): ApproximateDate | undefined {
  const full = /^\s*\d+(?:[.,]\d+)?\s*$/.test(text) ? `${text} years` : text
  const parts = [...full.matchAll(agePart)]
  if (parts.length === 0 || full.replaceAll(agePart, '').replaceAll(fillers, '') !== '') return undefined
  let [totalMonths, totalDays] = [0, 0]
  let smallest: Unit = 'year'
  for (const [, from = '', to = from, name = ''] of parts) {
    const count = (toNumber(from) + toNumber(to)) / 2
    const unit = units[name.slice(0, 1).toLowerCase()] as Unit
    if (unit === 'year') totalMonths += count * 12
    else if (unit === 'month') totalMonths += count
    else totalDays += unit === 'week' ? count * 7 : count
    smallest = unit
  }
  if (totalMonths > yearsMax * 12) return undefined
  const whole = Math.floor(totalMonths)
  const days = Math.round(totalDays + (totalMonths - whole) * 30)
  return approximate(monthsBefore(now - days * dayMs, whole), smallest)
}

const toNumber = (text: string): number => Number(text.replace(',', '.'))

function monthsBefore(now: number, count: number): string {
  const date = new Date(now)
  const day = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() - count)
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  date.setUTCDate(Math.min(day, lastDay))
  return date.toISOString().slice(0, 10)
}

/** The days between two dates. */
export const daysBetween = (a: string, b: string): number => Math.abs(Date.parse(a) - Date.parse(b)) / dayMs
