import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { IconButton } from './Button.tsx'

type DialogProps = {
  title: ComponentChildren
  /** A sentence below the title. */
  text?: ComponentChildren
  onClose(): void
  /** For a dialog whose content is lost when it is closed. */
  ignoresEscape?: boolean
  /** Makes the dialog a form. */
  onSubmit?(): void
  /** The buttons. The last one is the main action. */
  actions?: ComponentChildren
  children?: ComponentChildren
}

/** A modal dialog. It is shown as long as it is rendered. The focus returns to where it was. */
export function Dialog({ title, text, onClose, ignoresEscape, onSubmit, actions, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const previous = document.activeElement as HTMLElement | null
    const dialog = ref.current
    dialog?.showModal()
    dialog?.querySelector<HTMLElement>('[data-autofocus], .dialog-body :is(input, select, textarea)')?.focus()
    return () => {
      dialog?.close()
      previous?.focus()
    }
  }, [])
  const content = (
    <>
      <header class="dialog-header">
        <h2 id={titleId}>{title}</h2>
        <IconButton label="Close" icon="close" onClick={onClose} />
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
      onCancel={(event) => {
        event.preventDefault()
        if (!ignoresEscape) onClose()
      }}
    >
      {onSubmit ? (
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            onSubmit()
            // After the errors are shown.
            requestAnimationFrame(() => ref.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus())
          }}
        >
          {content}
        </form>
      ) : (
        content
      )}
    </dialog>
  )
}
