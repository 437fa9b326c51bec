import { reconnectNow, streamError, streamState } from '../app/stream.ts'
import { Button } from './Button.tsx'

const offText = 'This key lacks the scope events:read, so changes by others do not appear by themselves.'
const limitedText =
  'This key has all its event streams open, in other tabs or programs. Close one, and this tab becomes live within a few minutes.'

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
    <span class="live live-off" title={state === 'limited' ? limitedText : offText}>
      <span class="live-note">
        {state === 'limited' ? 'Too many tabs for live updates' : 'No live updates'}
      </span>
      <Button size="small" icon="refresh" onClick={onRefresh}>
        Refresh
      </Button>
    </span>
  )
}
