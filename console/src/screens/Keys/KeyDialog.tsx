import { useState } from 'preact/hooks'
import type { Key, KeyWithSecret, Plan } from '../../../../client/src/index.ts'
import { scopes } from '../../../../src/keys/key.ts'
import { planLimits, planNames } from '../../../../src/limits/plans.ts'
import type { RequestError } from '../../app/errors.ts'
import { capitalize, formatCount } from '../../app/format.ts'
import { store } from '../../app/store.ts'
import { CheckGroup } from '../../components/CheckGroup.tsx'
import { SelectField, TextField } from '../../components/Field.tsx'
import { FormDialog, useForm } from '../../components/FormDialog.tsx'
import { FormError } from '../../components/FormError.tsx'
import { Notice } from '../../components/Notice.tsx'
import {
  changedKeyBody,
  type FormErrors,
  formOf,
  type KeyForm,
  newKeyBody,
  ownKeyWarning,
  validate,
} from './keyForm.ts'
import { isOwnKey } from './keyList.ts'
import { describePlan } from './plans.ts'
import { RoleField } from './RoleField.tsx'

const planOptions = planNames.map((plan) => ({ value: plan, label: capitalize(plan) }))
const limitPaths = ['/limits/perMinute', '/limits/perDay', '/limits/streams']
const fieldPaths = ['/name', '/plan', ...limitPaths, '/scopes', '/origins', '/expiresAt']

/** An open dialog gets the key again when an event says that it has changed. */
const isChangedByOthers = (apiKey: Key, initial: KeyForm): boolean =>
  JSON.stringify(formOf(apiKey)) !== JSON.stringify(initial)

const update = (apiKey: Key, body: ReturnType<typeof changedKeyBody>): Key | Promise<Key> =>
  Object.keys(body).length === 0 ? apiKey : store.keys.update(apiKey.id, body)

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
  const [errors, setErrors] = useState<FormErrors>({})
  const set = (changes: Partial<KeyForm>) => {
    setErrors({})
    setForm({ ...form, ...changes })
  }
  const warning = apiKey && isOwnKey(apiKey) ? ownKeyWarning(form) : undefined

  const sent = useForm(
    () => {
      const problems = validate(form)
      setErrors(problems)
      return Object.keys(problems).length === 0
    },
    async (submission) =>
      onSaved(
        apiKey
          ? await update(apiKey, changedKeyBody(form, initial))
          : await store.keys.create(newKeyBody(form), { submission }),
      ),
  )
  const { error, isBusy } = sent
  return (
    <FormDialog
      form={sent}
      title={apiKey ? `Edit key ${apiKey.id}` : 'Create a key'}
      action={apiKey ? 'Save' : 'Create key'}
      onClose={onClose}
    >
      <FormError error={error} fields={fieldPaths} />
      {apiKey && !isBusy && isChangedByOthers(apiKey, initial) && (
        <Notice tone="warning">
          Someone else has changed this key. Only the fields that you change are saved.
        </Notice>
      )}
      {!apiKey && <RoleField form={form} set={set} />}
      <TextField
        label="Name"
        hint="Who or what uses the key, such as Anna or Web site."
        value={form.name}
        onValue={(name) => set({ name })}
        error={errors.name ?? error?.detail('/name')}
      />
      {form.role === 'custom' && <CustomFields form={form} set={set} error={error} />}
      {warning !== undefined && <Notice tone="warning">{warning}</Notice>}
      <AccessFields form={form} set={set} error={error} originsError={errors.origins} />
    </FormDialog>
  )
}

type FieldsProps = {
  form: KeyForm
  set(changes: Partial<KeyForm>): void
  error: RequestError | undefined
}

const CustomFields = ({ form, set, error }: FieldsProps) => (
  <>
    <PlanFields form={form} set={set} error={error} />
    <CheckGroup
      label="Scopes"
      options={scopeOptions}
      values={form.scopes}
      onValues={(values) => set({ scopes: values })}
      error={error?.detail('/scopes')}
    />
  </>
)

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

type AccessFieldsProps = FieldsProps & { originsError: string | undefined }

const AccessFields = ({ form, set, error, originsError }: AccessFieldsProps) => (
  <>
    {(form.role === 'website' || form.role === 'custom') && (
      <TextField
        label={form.role === 'website' ? 'Addresses of the web site' : 'Origins'}
        isOptional={form.role === 'custom'}
        isMultiline
        placeholder="https://shelter.example"
        hint={
          form.role === 'website'
            ? 'One per line, without a path. Only pages of these addresses can use the key.'
            : 'One per line. A key with origins is publishable: web pages of these origins can contain it, and it can only read.'
        }
        value={form.origins}
        onValue={(origins) => set({ origins })}
        error={originsError ?? error?.detail('/origins')}
      />
    )}
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
