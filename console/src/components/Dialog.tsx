import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { pauseToasts } from '../app/toasts.ts'
import { IconButton } from './Button.tsx'

type DialogProps = {
  title: ComponentChildren
  /** A sentence below the title. */
  text?: ComponentChildren
  onClose(): void
  /** For a dialog whose content is lost when it is closed. */
  ignoresEscape?: boolean
  /** While a request runs, the dialog cannot be closed: its outcome would not be seen. */
  isBusy?: boolean
  /** Makes the dialog a form. */
  onSubmit?(): Promise<void>
  /** The buttons. The last one is the main action. */
  actions?: ComponentChildren
  children?: ComponentChildren
}

/** A modal dialog. It is shown as long as it is rendered. The focus returns to where it was. */
export function Dialog(props: DialogProps) {
  const { title, text, onClose, ignoresEscape, isBusy, onSubmit, actions, children } = props
  const ref = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const previous = document.activeElement as HTMLElement | null
    const dialog = ref.current
    // Messages cannot be reached behind the dialog.
    const resumeToasts = pauseToasts()
    dialog?.showModal()
    dialog?.querySelector<HTMLElement>('[data-autofocus], .dialog-body :is(input, select, textarea)')?.focus()
    return () => {
      resumeToasts()
      dialog?.close()
      previous?.focus()
    }
  }, [])
  const staysOpen = ignoresEscape || isBusy
  const close = () => {
    if (!isBusy) onClose()
  }
  async function submit(event: Event) {
    event.preventDefault()
    await onSubmit?.()
    // After the errors are shown. The field may have the focus already, with its error below the actions.
    requestAnimationFrame(() => {
      const field = ref.current?.querySelector<HTMLElement>('[aria-invalid]')
      field?.focus()
      field?.closest('.field')?.scrollIntoView({ block: 'nearest' })
    })
  }
  const content = (
    <>
      <header class="dialog-header">
        <h2 id={titleId}>{title}</h2>
        <IconButton label="Close" icon="close" onClick={close} />
      </header>
      <div class="dialog-body">
        {text !== undefined && <p class="dialog-text">{text}</p>}
        {children}
      </div>
      {actions && <footer class="dialog-actions">{actions}</footer>}
    </>
  )
  return (
    <dialog
      ref={ref}
      class="dialog"
      aria-labelledby={titleId}
      {...(ignoresEscape && { closedby: 'none' })}
      onKeyDown={(event) => {
        // Browsers close a dialog at the second Escape, even if the cancel event was prevented.
        if (event.key === 'Escape' && staysOpen) event.preventDefault()
      }}
      onCancel={(event) => {
        event.preventDefault()
        if (!staysOpen) onClose()
      }}
      onClose={() => {
        // The event of a dialog that is no longer rendered. The next dialog may be open by now.
        if (!ref.current) return
        // The browser has closed it. The dialog is shown as long as it is rendered.
        if (staysOpen) ref.current.showModal()
        else onClose()
      }}
    >
      {onSubmit ? (
        <form noValidate onSubmit={(event) => void submit(event)}>
          {content}
        </form>
      ) : (
        content
      )}
    </dialog>
  )
}
