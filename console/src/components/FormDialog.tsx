import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Submission } from '../../../client/src/index.ts'
import { type RequestError, toRequestError } from '../app/errors.ts'
import { Button } from './Button.tsx'
import { Dialog } from './Dialog.tsx'
import { FormError } from './FormError.tsx'
import { Notice } from './Notice.tsx'

type Form = {
  /** Why it was not accepted. */
  readonly error: RequestError | undefined
  readonly isBusy: boolean
  submit(): Promise<void>
}

/** A form that is sent once at a time. `check` shows what is wrong with its fields, and says whether it can be sent. */
export function useForm(check: () => boolean, send: (submission: Submission) => Promise<void>): Form {
  const [error, setError] = useState<RequestError>()
  const [isBusy, setBusy] = useState(false)
  const [submission] = useState(() => new Submission())
  async function submit() {
    if (isBusy) return
    const isReady = check()
    setError(undefined)
    if (!isReady) return
    setBusy(true)
    try {
      await send(submission)
    } catch (thrown) {
      setError(toRequestError(thrown))
      setBusy(false)
    }
  }
  return { error, isBusy, submit }
}

type FormDialogProps = {
  form: Form
  title: ComponentChildren
  text?: ComponentChildren
  /** The name of the main action. Without it, the form can only be closed. */
  action: string | undefined
  isDanger?: boolean | undefined
  /** The action cannot be chosen yet. */
  isDisabled?: boolean
  closeName?: string
  /** The focus is on the button that changes nothing. */
  isQuestion?: boolean
  onClose(): void
  children?: ComponentChildren
}

/** A dialog that sends a form. It stays open with the reason if that fails. */
export function FormDialog(props: FormDialogProps) {
  const { form, action, isDanger, isDisabled, isQuestion, onClose, children, ...dialog } = props
  const { closeName = action === undefined ? 'Close' : 'Cancel', ...rest } = dialog
  return (
    <Dialog
      {...rest}
      onClose={onClose}
      isBusy={form.isBusy}
      onSubmit={form.submit}
      actions={
        <>
          <Button
            kind={action === undefined ? 'primary' : 'secondary'}
            onClick={onClose}
            disabled={form.isBusy}
            {...(isQuestion && { 'data-autofocus': true })}
          >
            {closeName}
          </Button>
          {action !== undefined && (
            <Button
              type="submit"
              kind={isDanger ? 'danger' : 'primary'}
              isBusy={form.isBusy}
              disabled={isDisabled}
            >
              {action}
            </Button>
          )}
        </>
      }
    >
      {children}
    </Dialog>
  )
}

type ConflictNoticesProps = {
  form: Form
  /** What is edited, such as "animal". */
  kind: string
  /** The paths of the fields that show their own errors. */
  fields: readonly string[]
  isRemoved: boolean
  /** What others have changed while the dialog was open. */
  changed: ComponentChildren
  explain?(error: RequestError): ComponentChildren
}

/** What others have done to something that is edited, and why it was not saved. */
export function ConflictNotices({ form, kind, fields, isRemoved, changed, explain }: ConflictNoticesProps) {
  const { error, isBusy } = form
  if (isRemoved) return <Notice tone="danger">Someone else has removed this {kind}.</Notice>
  const isConflict = error?.code === 'precondition_failed'
  return (
    <>
      {error && !isConflict && (
        <FormError error={error} fields={fields}>
          {explain?.(error)}
        </FormError>
      )}
      {changed && !isBusy && <Notice tone="warning">{changed}</Notice>}
      {isConflict && <Notice tone="danger">Nothing was saved. Check the changes, and save again.</Notice>}
    </>
  )
}
