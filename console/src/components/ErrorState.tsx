import type { RequestError } from '../api/errors.ts'
import { Button } from './Button.tsx'
import { Countdown } from './Countdown.tsx'
import { EmptyState } from './EmptyState.tsx'

/** An error instead of the content: limited (with a countdown, then a retry), offline, no scope, or another one. */
export function ErrorState({ error, onRetry }: { error: RequestError; onRetry(): void }) {
  const retry = (
    <Button icon="refresh" onClick={onRetry}>
      Try again
    </Button>
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
  if (error.isOffline)
    return (
      <EmptyState
        icon="offline"
        tone="warning"
        title="The service cannot be reached"
        text="Check your connection. What you see here may be out of date."
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
