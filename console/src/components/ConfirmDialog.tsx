import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type RequestError, toRequestError } from '../api/errors.ts'
import { Button } from './Button.tsx'
import { Dialog } from './Dialog.tsx'
import { ErrorNotice } from './ErrorNotice.tsx'

type ConfirmDialogProps = {
  title: ComponentChildren
  text: ComponentChildren
  /** The name of the action. */
  action: string
  isDanger?: boolean
  /** The person must agree to this before the action. */
  consent?: string
  run(): Promise<void>
  /** What an error means here, if it is not what the API says. */
  explain?(error: RequestError): ComponentChildren
  onClose(): void
  children?: ComponentChildren
}

/** Asks before an action, runs it, and stays open with the reason if it fails. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, text, action, isDanger, consent, run, explain, onClose, children } = props
  const [isBusy, setBusy] = useState(false)
  const [hasConsent, setConsent] = useState(consent === undefined)
  const [error, setError] = useState<RequestError>()
  async function submit() {
    if (isBusy || !hasConsent) return
    setBusy(true)
    setError(undefined)
    try {
      await run()
    } catch (thrown) {
      setError(toRequestError(thrown))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={title}
      text={text}
      onClose={onClose}
      isBusy={isBusy}
      onSubmit={submit}
      actions={
        <>
          <Button onClick={onClose} disabled={isBusy} data-autofocus>
            Cancel
          </Button>
          <Button type="submit" kind={isDanger ? 'danger' : 'primary'} isBusy={isBusy} disabled={!hasConsent}>
            {action}
          </Button>
        </>
      }
    >
      {error && <ErrorNotice error={error}>{explain?.(error)}</ErrorNotice>}
      {children}
      {consent !== undefined && (
        <label class="check">
          <input
            type="checkbox"
            checked={hasConsent}
            onChange={(event) => setConsent(event.currentTarget.checked)}
          />
          <span>{consent}</span>
        </label>
      )}
    </Dialog>
  )
}
