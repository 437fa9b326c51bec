import type { Limits, LimitWindow } from '../../../client/src/index.ts'
import { now } from '../app/clock.ts'
import { formatCount } from '../app/format.ts'
import { Countdown } from './Countdown.tsx'

/** Below this share the rest is marked. */
const lowShare = 0.2

type WindowMeterProps = { name: string; window: LimitWindow; onReset(): void }

/** What is left of the rate limit windows of a key. */
export const WindowMeters = ({ limits, onReset }: { limits: Limits; onReset(): void }) => (
  <div class="meters">
    <WindowMeter name="This minute" window={limits.minute} onReset={onReset} />
    <WindowMeter name="This day" window={limits.day} onReset={onReset} />
  </div>
)

/** What is left of a rate limit window, and when it resets. */
function WindowMeter({ name, window, onReset }: WindowMeterProps) {
  const endsAt = window.resetsAt === null ? undefined : Date.parse(window.resetsAt)
  const isOpen = endsAt !== undefined && endsAt > now()
  const remaining = isOpen ? window.remaining : window.limit
  const share = window.limit === 0 ? 0 : remaining / window.limit
  const tone = remaining === 0 ? 'danger' : share < lowShare ? 'warning' : 'good'
  return (
    <div class={`meter meter-${tone}`}>
      <p class="meter-name">{name}</p>
      <p class="meter-value">
        <strong>{formatCount(remaining)}</strong>
        <span> of {formatCount(window.limit)} left</span>
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: browsers draw <meter> in their own way */}
      <div
        class="meter-track"
        role="meter"
        aria-label={`Requests left, ${name.toLowerCase()}`}
        aria-valuenow={remaining}
        aria-valuemin={0}
        aria-valuemax={window.limit}
        aria-valuetext={`${formatCount(remaining)} of ${formatCount(window.limit)} requests left`}
      >
        <span style={{ width: `${share * 100}%` }} />
      </div>
      <p class="meter-reset">
        {isOpen ? (
          <>
            Resets in <Countdown until={endsAt} onEnd={onReset} />
          </>
        ) : (
          'Starts with the next request'
        )}
      </p>
    </div>
  )
}
