import { timeMaxMs, timeMinMs } from '../clock.ts'
import { parsedText } from './validation.ts'

const pattern = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))$/i
const secondsPerDay = 24 * 60 * 60
const formProblem = 'must be a time such as 2027-01-31T12:00:00Z or 2027-01-31T13:00:00+01:00'
const existenceProblem = 'must be a date and time that exist'
const rangeProblem = 'must be from year 0000 to 9999 in UTC'

/**
 * Parses an RFC 3339 `date-time` to milliseconds since the Unix epoch, or returns the problem. Digits beyond milliseconds
 * are dropped. A leap second (23:59:60 UTC) becomes the second after it, as in Unix time.
 */
export function parseDateTime(text: string): number | string {
  const match = pattern.exec(text)
  if (!match) return formProblem
  const [, date = '', time, seconds, fraction = '', sign, offsetHours = '00', offsetMinutes = '00'] = match
  const isLeapSecond = seconds === '60'
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0')
  const localMs = Date.parse(`${date}T${time}:${isLeapSecond ? '59' : seconds}.${milliseconds}Z`)
  // Date.parse moves 30 February and 24:00 to a later day.
  if (Number.isNaN(localMs) || !new Date(localMs).toISOString().startsWith(date)) return existenceProblem
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return existenceProblem
  const offsetMs = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000
  const ms = localMs + (sign === '-' ? offsetMs : -offsetMs) + (isLeapSecond ? 1_000 : 0)
  const isMidnight = Math.floor(ms / 1000) % secondsPerDay === 0
  if (isLeapSecond && !isMidnight) return existenceProblem
  return ms < timeMinMs || ms > timeMaxMs ? rangeProblem : ms
}

/** A time in a request, as milliseconds. */
export const dateTimeSchema = () =>
  parsedText<number>({ type: 'string', format: 'date-time' }, parseDateTime, ({ input }) =>
    input === undefined ? 'is required' : formProblem,
  )
