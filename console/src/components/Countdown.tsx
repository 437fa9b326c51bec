import { useEffect, useRef } from 'preact/hooks'
import { now } from '../app/clock.ts'
import { tick } from '../app/tick.ts'

const minuteS = 60
const hourS = 60 * minuteS
const dayS = 24 * hourS

/** "2 d 4 h", "3 h 12 min", "4 min 09 s", "12 s". */
function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  if (seconds >= dayS) return `${Math.floor(seconds / dayS)} d ${Math.floor((seconds % dayS) / hourS)} h`
  if (seconds >= hourS)
    return `${Math.floor(seconds / hourS)} h ${Math.floor((seconds % hourS) / minuteS)} min`
  if (seconds >= minuteS)
    return `${Math.floor(seconds / minuteS)} min ${String(seconds % minuteS).padStart(2, '0')} s`
  return `${seconds} s`
}

/** The time left until a moment in milliseconds. Calls `onEnd` once when it is reached. */
export function Countdown({ until, onEnd }: { until: number; onEnd?: () => void }) {
  const left = until - Math.max(tick.value, now())
  const endedFor = useRef<number>(undefined)
  useEffect(() => {
    if (left > 0 || endedFor.current === until) return
    endedFor.current = until
    onEnd?.()
  })
  return (
    <time
      class="countdown"
      // A live region around it must not announce every second.
      role="timer"
      aria-live="off"
      dateTime={new Date(until).toISOString()}
      title={new Date(until).toLocaleString('en')}
    >
      {formatDuration(left)}
    </time>
  )
}
