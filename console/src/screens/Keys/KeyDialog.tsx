import { useState } from 'preact/hooks'
import { scopes } from '../../../../src/keys/key.ts'
import { planLimits, planNames } from '../../../../src/limits/plans.ts'
import { call, Submission } from '../../api/client.ts'
import { type RequestError, toRequestError } from '../../api/errors.ts'
import type { Key, KeyWithSecret, Plan } from '../../api/types.ts'
import { capitalize, formatCount, pluralize } from '../../app/format.ts'
import { Button } from '../../components/Button.tsx'
import { CheckGroup } from '../../components/CheckGroup.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { SelectField, TextField } from '../../components/Field.tsx'
import { FormError } from '../../components/FormError.tsx'
import { Notice } from '../../components/Notice.tsx'
import { changedKeyBody, formOf, type KeyForm, newKeyBody, ownKeyWarning } from './keyForm.ts'
import { isOwnKey } from './keyList.ts'

const planOptions = planNames.map((plan) => ({ value: plan, label: capitalize(plan) }))
/** "300 requests a minute, 10,000 a day, 10 event streams" */
const describePlan = (plan: Plan): string => {
  const { perMinute, perDay, streams } = planLimits[plan]
  return `${pluralize(perMinute, 'request')} a minute, ${formatCount(perDay)} a day, ${pluralize(streams, 'event stream')}.`
}
const limitPaths = ['/limits/perMinute', '/limits/perDay', '/limits/streams']
const fieldPaths = ['/name', '/plan', ...limitPaths, '/scopes', '/origins', '/expiresAt']

/** An open dialog gets the key again when an event says that it has changed. */
const isChangedByOthers = (apiKey: Key, initial: KeyForm): boolean =>
  JSON.stringify(formOf(apiKey)) !== JSON.stringify(initial)

const update = (apiKey: Key, body: ReturnType<typeof changedKeyBody>): Key | Promise<Key> =>
  Object.keys(body).length === 0 ? apiKey : call('updateKey', { params: { keyId: apiKey.id }, body })

const scopeOptions = scopes.map((scope) => ({ value: scope, label: scope }))

type KeyDialogProps = {
  /** Undefined for a new key. */
  apiKey?: Key
  onSaved(key: Key | KeyWithSecret): void
  onClose(): void
}

/** Creates a key, or changes one. */
export function KeyDialog({ apiKey, onSaved, onClose }: KeyDialogProps) {
  const [initial] = useState(() => formOf(apiKey))
  const [form, setForm] = useState(initial)
  const [nameError, setNameError] = useState<string>()
  const [error, setError] = useState<RequestError>()
  const [isBusy, setBusy] = useState(false)
  const [submission] = useState(() => new Submission())
  const set = (changes: Partial<KeyForm>) => setForm({ ...form, ...changes })
  const warning = apiKey && isOwnKey(apiKey) ? ownKeyWarning(form) : undefined

  async function submit() {
    if (isBusy) return
    setNameError(form.name.trim() === '' ? 'Say what the key is for.' : undefined)
    if (form.name.trim() === '') return
    setBusy(true)
    setError(undefined)
    try {
      const saved = apiKey
        ? await update(apiKey, changedKeyBody(form, initial))
        : await call('createKey', { body: newKeyBody(form), submission })
      onSaved(saved)
    } catch (thrown) {
      setError(toRequestError(thrown))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={apiKey ? `Edit key ${apiKey.id}` : 'Create a key'}
      onClose={onClose}
      isBusy={isBusy}
      onSubmit={submit}
      actions={
        <>
          <Button onClick={onClose} disabled={isBusy}>
            Cancel
          </Button>
          <Button kind="primary" type="submit" isBusy={isBusy}>
            {apiKey ? 'Save' : 'Create key'}
          </Button>
        </>
      }
    >
      <FormError error={error} fields={fieldPaths} />
      {apiKey && !isBusy && isChangedByOthers(apiKey, initial) && (
        <Notice tone="warning">
          Someone else has changed this key. Only the fields that you change are saved.
        </Notice>
      )}
      <TextField
        label="Name"
        hint="What the key is for, such as Web site or Partner feed."
        value={form.name}
        onValue={(name) => {
          setNameError(undefined)
          set({ name })
        }}
        error={nameError ?? error?.detail('/name')}
      />
      <PlanFields form={form} set={set} error={error} />
      <CheckGroup
        label="Scopes"
        options={scopeOptions}
        values={form.scopes}
        onValues={(values) => set({ scopes: values })}
        error={error?.detail('/scopes')}
      />
      {warning !== undefined && <Notice tone="warning">{warning}</Notice>}
      <AccessFields form={form} set={set} error={error} />
    </Dialog>
  )
}

type FieldsProps = {
  form: KeyForm
  set(changes: Partial<KeyForm>): void
  error: RequestError | undefined
}

const PlanFields = ({ form, set, error }: FieldsProps) => (
  <>
    <SelectField
      label="Plan"
      value={form.plan}
      onValue={(plan) => set({ plan: plan as Plan })}
      options={planOptions}
      hint={describePlan(form.plan)}
      error={error?.detail('/plan')}
    />
    {form.plan === 'enterprise' && (
      <div class="key-limits">
        {(
          [
            ['perMinute', 'Per minute'],
            ['perDay', 'Per day'],
            ['streams', 'Streams'],
          ] as const
        ).map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            type="number"
            placeholder={formatCount(planLimits.enterprise[name])}
            value={form[name]}
            onValue={(value) => set({ [name]: value })}
            error={error?.detail(`/limits/${name}`)}
          />
        ))}
      </div>
    )}
  </>
)

const AccessFields = ({ form, set, error }: FieldsProps) => (
  <>
    <TextField
      label="Origins"
      isOptional
      isMultiline
      placeholder="https://shelter.example"
      hint="One per line. A key with origins is publishable: web pages of these origins can contain it, and it can only read."
      value={form.origins}
      onValue={(origins) => set({ origins })}
      error={error?.detail('/origins')}
    />
    <TextField
      label="Expires"
      type="datetime-local"
      isOptional
      hint="Without a time the key is valid until it is revoked."
      value={form.expiresAt}
      onValue={(expiresAt) => set({ expiresAt })}
      error={error?.detail('/expiresAt')}
    />
  </>
)
