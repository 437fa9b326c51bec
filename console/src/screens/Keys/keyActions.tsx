import { useState } from 'preact/hooks'
import type { Key, KeyWithSecret, Submission } from '../../../../client/src/index.ts'
import { rotateOwnKey, signOut } from '../../app/session.ts'
import { store } from '../../app/store.ts'
import { showToast } from '../../app/toasts.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { SelectField } from '../../components/Field.tsx'
import { withNames } from '../../components/Name.tsx'
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
  async function rotate(submission: Submission) {
    const send = () => store.keys.rotate(apiKey.id, { overlapSeconds: Number(overlap) }, { submission })
    onRotated(isOwnKey(apiKey) ? await rotateOwnKey(send) : await send())
  }
  return (
    <ConfirmDialog
      title={withNames`Rotate “${apiKey.name}”`}
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
    await store.keys.revoke(apiKey.id)
    showToast(withNames`Key ${apiKey.id} “${apiKey.name}” is revoked.`)
    if (isOwn) signOut()
    else onRevoked()
  }
  return (
    <ConfirmDialog
      title={withNames`Revoke “${apiKey.name}”?`}
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
