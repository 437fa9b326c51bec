import type { ComponentChildren } from 'preact'
import type { KeyWithSecret } from '../../../../client/src/index.ts'
import { SecretDialog } from '../../components/SecretDialog.tsx'

type KeySecretDialogProps = { title: ComponentChildren; apiKey: KeyWithSecret; onClose(): void }

export const KeySecretDialog = ({ title, apiKey, onClose }: KeySecretDialogProps) => (
  <SecretDialog
    title={title}
    label="API key"
    secret={apiKey.key}
    command={curlLine(apiKey)}
    onClose={onClose}
  />
)

/** A command that shows that the key works. */
function curlLine({ key, scopes, origins: [origin] }: KeyWithSecret): string {
  const path = scopes.includes('pets:read') ? '/v1/pets?limit=5' : '/v1/limits'
  const from = origin === undefined ? '' : ` -H "Origin: ${origin}"`
  return `curl -H "Authorization: Bearer ${key}"${from} "${location.origin}${path}"`
}
