import type { WebhookWithSecret } from '../../../../client/src/index.ts'
import { SecretDialog } from '../../components/SecretDialog.tsx'

type WebhookSecretDialogProps = { webhook: WebhookWithSecret; isRotated?: boolean; onClose(): void }

export const WebhookSecretDialog = ({ webhook, isRotated, onClose }: WebhookSecretDialogProps) => (
  <SecretDialog
    title={isRotated ? 'New signing secret' : 'Webhook registered'}
    label="Signing secret"
    secret={webhook.secret}
    onClose={onClose}
  >
    <p class="muted">
      Your endpoint verifies with it that messages come from here.{' '}
      <a href="/guides/changes">How to verify them</a>
    </p>
  </SecretDialog>
)
