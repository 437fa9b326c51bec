import type { ComponentChildren } from 'preact'
import type { RequestError } from '../app/errors.ts'
import { Countdown } from './Countdown.tsx'
import { Notice } from './Notice.tsx'

type ErrorNoticeProps = {
  error: RequestError
  /** What the error means here, if it is not what the API says. */
  children?: ComponentChildren
}

/** An error within a dialog. A rate limit counts down. */
export const ErrorNotice = ({ error, children }: ErrorNoticeProps) => (
  <Notice tone="danger">
    {children ?? error.messageWithoutDelay}
    <RetryTime error={error} />
  </Notice>
)

/** When a limited request can be repeated. */
export const RetryTime = ({ error }: { error: RequestError }) =>
  error.retryAt === undefined ? null : (
    <p>
      Try again in <Countdown until={error.retryAt} />.
    </p>
  )
