import { useState } from 'preact/hooks'
import { headersOf, type StoreProfile, type StoreProfileChange } from '../../../../client/src/index.ts'
import { changedFields } from '../../app/changedFields.ts'
import { toRequestError } from '../../app/errors.ts'
import { store } from '../../app/store.ts'
import { showToast } from '../../app/toasts.ts'
import { TextField } from '../../components/Field.tsx'
import { ConflictNotices, FormDialog, useForm } from '../../components/FormDialog.tsx'
import { withNames } from '../../components/Name.tsx'
import { type FieldName, storeFields } from './fields.ts'

type StoreDialogProps = {
  /** As it is now: others may change it while the dialog is open. */
  profile: StoreProfile
  onLoaded(profile: StoreProfile): void
  onClose(): void
}

type Fields = Record<FieldName, string>

const fieldsOf = (profile: StoreProfile): Fields =>
  Object.fromEntries(storeFields.map(({ name }) => [name, profile[name] ?? ''])) as Fields

export function StoreDialog({ profile, onLoaded, onClose }: StoreDialogProps) {
  const [initial] = useState(() => fieldsOf(profile))
  const [fields, setFields] = useState(initial)
  const form = useForm(
    () => true,
    async () => {
      await save(profile, changesOf(fields, initial), onLoaded)
      showToast('Store profile saved.')
      onClose()
    },
  )
  const theirs = changedFields(fieldsOf(profile), initial)
  return (
    <FormDialog
      form={form}
      title="Edit the store profile"
      text="Everything is optional. The adoption page shows it to everyone."
      action="Save"
      onClose={onClose}
    >
      <ConflictNotices
        form={form}
        kind="store profile"
        fields={storeFields.map(({ name }) => `/${name}`)}
        isRemoved={false}
        changed={
          Object.keys(theirs).length > 0 &&
          'Someone else has changed the store profile. Only the fields that you change are saved.'
        }
      />
      {storeFields.map(({ name, ...field }) => (
        <TextField
          key={name}
          {...field}
          value={fields[name]}
          error={form.error?.detail(`/${name}`)}
          hint={hintOf(theirs[name])}
          onValue={(text) => setFields((current) => ({ ...current, [name]: text }))}
        />
      ))}
    </FormDialog>
  )
}

/** What the person has changed. A blank field is not set. */
const changesOf = (fields: Fields, initial: Fields): StoreProfileChange =>
  Object.fromEntries(
    Object.entries(changedFields(fields, initial)).map(([name, text]) => [name, text.trim() || null]),
  )

function hintOf(theirs: string | undefined) {
  if (theirs === undefined) return undefined
  return theirs === ''
    ? 'Someone else has cleared this.'
    : withNames`Someone else has changed this to ${theirs}.`
}

/** Saves the changes, unless someone else has changed the profile since it was shown. */
async function save(
  profile: StoreProfile,
  changes: StoreProfileChange,
  onLoaded: (profile: StoreProfile) => void,
): Promise<void> {
  try {
    const ifMatch = headersOf(profile).get('etag')
    onLoaded(await store.profile.update(changes, { ifMatch }))
  } catch (thrown) {
    if (toRequestError(thrown).code !== 'precondition_failed') throw thrown
    const current = await store.profile.get()
    onLoaded(current)
    // The response to an earlier attempt may have been lost.
    if (Object.keys(changedFields(changes, current)).length > 0) throw thrown
  }
}
