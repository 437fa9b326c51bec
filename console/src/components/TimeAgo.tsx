import { tick } from '../app/tick.ts'

const steps: readonly [seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
]
const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** "3 minutes ago", with the exact time as a title. */
export function TimeAgo({ at }: { at: string }) {
  const time = Date.parse(at)
  const seconds = Math.max(0, (tick.value - time) / 1000)
  const [size, unit] = steps.find(([size]) => seconds >= size) ?? []
  const text =
    size === undefined || unit === undefined ? 'just now' : format.format(-Math.floor(seconds / size), unit)
  return (
    <time dateTime={at} title={new Date(time).toLocaleString('en')}>
      {text}
    </time>
  )
}
