import type { ComponentChildren } from 'preact'
import { Button } from './Button.tsx'
import { CopyField } from './CopyField.tsx'
import { Dialog } from './Dialog.tsx'
import { Notice } from './Notice.tsx'

type SecretDialogProps = {
  title: ComponentChildren
  label: string
  secret: string
  /** A command to try it. */
  command?: string | undefined
  onClose(): void
  children?: ComponentChildren
}

/** Shows a secret once. It is forgotten when the dialog is closed. */
export const SecretDialog = ({ title, label, secret, command, onClose, children }: SecretDialogProps) => (
  <Dialog
    title={title}
    onClose={onClose}
    ignoresEscape
    actions={
      <Button kind="primary" onClick={onClose}>
        I have saved it
      </Button>
    }
  >
    <Notice tone="warning">Copy it now. It is shown only once and cannot be recovered.</Notice>
    <CopyField label={label} text={secret} isMain />
    {command !== undefined && <CopyField label="Try it" text={command} />}
    {children}
  </Dialog>
)
