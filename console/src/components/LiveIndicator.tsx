import { reconnectNow, streamError, streamState } from '../api/stream.ts'
import { Button } from './Button.tsx'

/** Whether changes by others appear by themselves. Without a stream there is a button to load again. */
export function LiveIndicator({ onRefresh }: { onRefresh(): void }) {
  const state = streamState.value
  if (state === 'live' || state === 'connecting')
    return (
      <span class={`live live-${state}`} role="status">
        <span class="live-dot" aria-hidden="true" />
        {state === 'live' ? 'Live' : 'Connecting'}
      </span>
    )
  if (state === 'reconnecting')
    return (
      <span class="live live-reconnecting" role="status" title={streamError.value?.message}>
        <span class="live-dot" aria-hidden="true" />
        Reconnecting
        <button type="button" class="link" onClick={reconnectNow}>
          Retry now
        </button>
      </span>
    )
  return (
    <span
      class="live live-off"
      title="This key lacks the scope events:read, so changes by others do not appear by themselves."
    >
      <span class="live-note">No live updates</span>
      <Button size="small" icon="refresh" onClick={onRefresh}>
        Refresh
      </Button>
    </span>
  )
}
