import { useEffect, useRef } from 'preact/hooks'
import type { RequestError } from '../app/errors.ts'
import { streamState } from '../app/stream.ts'
import { Button } from './Button.tsx'
import { Countdown } from './Countdown.tsx'
import { EmptyState } from './EmptyState.tsx'

type ErrorStateProps = {
  error: RequestError
  onRetry(): void
  /** It is below content that was loaded before. */
  hasContent?: boolean
}

/** An error instead of the content: limited (with a countdown, then a retry), offline, no scope, or another one. */
export function ErrorState({ error, onRetry, hasContent }: ErrorStateProps) {
  useRetryOnline(error.isOffline, onRetry)
  const retry = (
    <Button icon="refresh" onClick={onRetry}>
      Try again
    </Button>
  )
  if (error.code === 'too_many_streams')
    return (
      <EmptyState
        icon="alert"
        tone="warning"
        title="Too many event streams"
        text="This key has all its event streams open, in other tabs or programs. Close one, and try again."
        action={retry}
      />
    )
  if (error.isLimited && error.retryAt !== undefined)
    return (
      <EmptyState
        icon="clock"
        tone="warning"
        title={error.code === 'key_banned' ? 'This key is banned for a short time' : 'Rate limit reached'}
        text={
          <>
            {error.code === 'key_banned'
              ? 'It repeatedly exceeded its rate limit. '
              : 'This key has used its requests. '}
            Loading again in <Countdown until={error.retryAt} onEnd={onRetry} />.
          </>
        }
      />
    )
  if (error.code === 'unavailable' && error.retryAt !== undefined)
    return (
      <EmptyState
        icon="clock"
        tone="warning"
        title="Not ready yet"
        text={
          <>
            {error.messageWithoutDelay} Trying again in <Countdown until={error.retryAt} onEnd={onRetry} />.
          </>
        }
      />
    )
  if (error.isOffline)
    return (
      <EmptyState
        icon="offline"
        tone="warning"
        title="The service cannot be reached"
        text={`${hasContent ? 'What you see may be out of date. ' : ''}This screen is loaded again when the connection is back.`}
        action={retry}
      />
    )
  if (error.code === 'insufficient_scope')
    return <EmptyState icon="lock" title="This key cannot do this" text={error.message} />
  return (
    <EmptyState
      icon="alert"
      tone="danger"
      title="Something went wrong"
      text={
        <>
          {error.message}
          {error.requestId !== undefined && (
            <span class="state-request">
              Request <code>{error.requestId}</code>
            </span>
          )}
        </>
      }
      action={retry}
    />
  )
}

/** Without an event stream, nothing else tells that the service can be reached again. */
const retryMs = 10_000

/** Retries when the browser is online again or the event stream is open again. */
function useRetryOnline(isOffline: boolean, onRetry: () => void): void {
  const retry = useRef(onRetry)
  retry.current = onRetry
  const state = streamState.value
  const hasStream = state === 'connecting' || state === 'live' || state === 'reconnecting'
  const wasLive = useRef(state === 'live')
  useEffect(() => {
    if (isOffline && state === 'live' && !wasLive.current) retry.current()
    wasLive.current = state === 'live'
  }, [isOffline, state])
  useEffect(() => {
    if (!isOffline) return
    const run = () => retry.current()
    const timer = hasStream ? undefined : setInterval(run, retryMs)
    globalThis.addEventListener('online', run)
    return () => {
      clearInterval(timer)
      globalThis.removeEventListener('online', run)
    }
  }, [isOffline, hasStream])
}
