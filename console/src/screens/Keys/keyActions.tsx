import { useState } from 'preact/hooks'
import { call, Submission } from '../../api/client.ts'
import type { Key, KeyWithSecret } from '../../api/types.ts'
import { rotateOwnKey, signOut } from '../../app/session.ts'
import { showToast } from '../../app/toasts.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { SelectField } from '../../components/Field.tsx'
import { Name } from '../../components/Name.tsx'
import { Notice } from '../../components/Notice.tsx'
import { isOwnKey } from './keyList.ts'

/** Actions on one key that ask first. */

type ActionProps = { apiKey: Key; onClose(): void }

const hourS = 3_600
const overlaps = [
  { value: '0', label: 'Ends at once' },
  { value: String(hourS), label: 'Stays valid for 1 hour' },
  { value: String(24 * hourS), label: 'Stays valid for 1 day' },
  { value: String(7 * 24 * hourS), label: 'Stays valid for 7 days' },
  { value: String(30 * 24 * hourS), label: 'Stays valid for 30 days' },
]

export function RotateDialog({
  apiKey,
  onClose,
  onRotated,
}: ActionProps & { onRotated(key: KeyWithSecret): void }) {
  const [overlap, setOverlap] = useState(String(24 * hourS))
  const [submission] = useState(() => new Submission())
  async function rotate() {
    const params = { keyId: apiKey.id }
    const body = { overlapSeconds: Number(overlap) }
    const send = () => call('rotateKey', { params, body, submission })
    onRotated(isOwnKey(apiKey) ? await rotateOwnKey(send) : await send())
  }
  return (
    <ConfirmDialog
      title={
        <>
          Rotate “<Name>{apiKey.name}</Name>”
        </>
      }
      text="The key gets a new secret. It keeps its id, scopes and limits."
      action="Rotate key"
      run={rotate}
      onClose={onClose}
    >
      <SelectField
        label="Previous secret"
        value={overlap}
        onValue={setOverlap}
        options={overlaps}
        hint="Both secrets work until then. An older secret from an earlier rotation ends at once."
      />
      {isOwnKey(apiKey) && (
        <Notice tone="warning">
          You are signed in with this key. This tab goes on with the new secret. Other tabs need it to sign in
          again.
        </Notice>
      )}
    </ConfirmDialog>
  )
}

export function RevokeDialog({ apiKey, onClose, onRevoked }: ActionProps & { onRevoked(): void }) {
  const isOwn = isOwnKey(apiKey)
  async function revoke() {
    await call('revokeKey', { params: { keyId: apiKey.id } })
    showToast(
      <>
        Key {String(apiKey.id)} “<Name>{apiKey.name}</Name>” is revoked.
      </>,
    )
    if (isOwn) signOut()
    else onRevoked()
  }
  return (
    <ConfirmDialog
      title={
        <>
          Revoke “<Name>{apiKey.name}</Name>”?
        </>
      }
      text="Requests with this key are rejected from now on. This cannot be undone."
      action="Revoke key"
      isDanger
      run={revoke}
      onClose={onClose}
      {...(isOwn && { consent: 'I have another key that can manage keys.' })}
    >
      {isOwn && (
        <Notice tone="danger">
          You are signed in with this key, so you are signed out. Without another operator key, keys can no
          longer be managed here.
        </Notice>
      )}
    </ConfirmDialog>
  )
}
