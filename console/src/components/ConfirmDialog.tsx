import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Submission } from '../../../client/src/index.ts'
import type { RequestError } from '../app/errors.ts'
import { ErrorNotice } from './ErrorNotice.tsx'
import { FormDialog, useForm } from './FormDialog.tsx'

type ConfirmDialogProps = {
  title: ComponentChildren
  text: ComponentChildren
  /** The name of the action. */
  action: string
  isDanger?: boolean
  /** The person must agree to this before the action. */
  consent?: string
  run(submission: Submission): Promise<void>
  /** What an error means here, if it is not what the API says. */
  explain?(error: RequestError): ComponentChildren
  onClose(): void
  children?: ComponentChildren
}

/** Asks before an action, runs it, and stays open with the reason if it fails. */
export function ConfirmDialog({ consent, run, explain, children, ...rest }: ConfirmDialogProps) {
  const [hasConsent, setConsent] = useState(consent === undefined)
  const form = useForm(() => hasConsent, run)
  return (
    <FormDialog {...rest} form={form} isDisabled={!hasConsent} isQuestion>
      {form.error && <ErrorNotice error={form.error}>{explain?.(form.error)}</ErrorNotice>}
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
    </FormDialog>
  )
}
