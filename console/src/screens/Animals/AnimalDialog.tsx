import { useState } from 'preact/hooks'
import { isPetTransitionAllowed, petNameLengthMax, petStatuses } from '../../../../src/pets/pet.ts'
import { Submission } from '../../api/client.ts'
import { type RequestError, toRequestError } from '../../api/errors.ts'
import { parseId } from '../../api/json.ts'
import type { Pet, PetStatus } from '../../api/types.ts'
import { categoryName, categoryOptions, createCategory } from '../../app/categories.ts'
import { changedFields } from '../../app/changedFields.ts'
import { hasScope } from '../../app/session.ts'
import { showToast } from '../../app/toasts.ts'
import { Button } from '../../components/Button.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { SelectField, TextField } from '../../components/Field.tsx'
import { FormError } from '../../components/FormError.tsx'
import { Name } from '../../components/Name.tsx'
import { Notice } from '../../components/Notice.tsx'
import { statusName } from '../../components/StatusChip.tsx'
import { explain, named } from './messages.tsx'
import { createPet, type PetChange, type PetList, updatePet } from './pets.ts'
import { usePetVersion } from './useFollowedPet.ts'

const newCategory = 'new'

type Form = { name: string; category: string; categoryName: string; status: PetStatus }
type FormErrors = Partial<Record<keyof Form, string | undefined>>

type AnimalDialogProps = {
  list: PetList
  /** The animal to edit. Without it, one is added. */
  pet?: Pet | undefined
  onClose(): void
}

export function AnimalDialog({ list, pet, onClose }: AnimalDialogProps) {
  const [form, setForm] = useState(() => initialForm(pet))
  const [errors, setErrors] = useState<FormErrors>({})
  const [error, setError] = useState<RequestError>()
  const [isBusy, setBusy] = useState(false)
  const [submission] = useState(() => new Submission())
  const set = (changes: Partial<Form>) => setForm((current) => ({ ...current, ...changes }))
  const { version, loadVersion } = usePetVersion(pet)
  const current = version?.pet
  const isRemoved = current === 'removed'

  /** Creates the category that the form names. Sending the form again uses it. */
  async function createFormCategory(): Promise<string> {
    const { id } = await createCategory(form.categoryName.trim(), submission)
    set({ category: String(id), categoryName: '' })
    return String(id)
  }
  async function save(category: string) {
    const values = { name: form.name.trim(), categoryId: parseId(category), status: form.status }
    if (pet) await saveChanges(list, pet, values, { version, loadVersion })
    else await createPet(values, submission)
  }
  async function submit() {
    const problems = validate(form)
    setErrors(problems)
    setError(undefined)
    if (Object.keys(problems).length > 0 || isBusy || isRemoved) return
    setBusy(true)
    let step: 'category' | 'animal' = 'category'
    try {
      const category = form.category === newCategory ? await createFormCategory() : form.category
      step = 'animal'
      await save(category)
      showToast(named(form.name.trim(), pet ? 'saved.' : 'added.'))
      onClose()
    } catch (thrown) {
      const failed = toRequestError(thrown)
      if (step === 'category') setErrors({ categoryName: failed.detail('/name') })
      else
        setErrors({
          name: failed.detail('/name'),
          category: failed.detail('/categoryId'),
          status: failed.detail('/status'),
        })
      setError(failed)
      setBusy(false)
    }
  }
  const statuses = petStatuses.filter((status) => !pet || isPetTransitionAllowed(pet.status, status))
  return (
    <Dialog
      title={pet ? `Edit ${pet.name}` : 'Add an animal'}
      onClose={onClose}
      isBusy={isBusy}
      onSubmit={submit}
      actions={
        <>
          <Button onClick={onClose} disabled={isBusy}>
            {isRemoved ? 'Close' : 'Cancel'}
          </Button>
          {!isRemoved && (
            <Button kind="primary" type="submit" isBusy={isBusy}>
              {pet ? 'Save' : 'Add animal'}
            </Button>
          )}
        </>
      }
    >
      {error && !isRemoved && error.code !== 'precondition_failed' && (
        <FormError error={error} fields={['/name', '/categoryId', '/status']}>
          {explain(error, { name: form.name })}
        </FormError>
      )}
      {isRemoved && <Notice tone="danger">Someone else has removed this animal.</Notice>}
      {pet && current && !isRemoved && !isBusy && <ChangedMeanwhile pet={pet} current={current} />}
      {error?.code === 'precondition_failed' && (
        <Notice tone="danger">Nothing was saved. Check the changes, and save again.</Notice>
      )}
      <TextField label="Name" value={form.name} error={errors.name} onValue={(name) => set({ name })} />
      <CategoryFields form={form} errors={errors} pet={pet} set={set} />
      <SelectField
        label="Status"
        value={form.status}
        error={errors.status}
        onValue={(status) => set({ status: status as PetStatus })}
        options={statuses.map((status) => ({ value: status, label: statusName(status) }))}
      />
    </Dialog>
  )
}

/** Someone else may change the animal while the dialog is open. */
function ChangedMeanwhile({ pet, current }: { pet: Pet; current: Pet }) {
  const fields = ['name', 'categoryId', 'status'] as const
  if (fields.every((field) => current[field] === pet[field])) return null
  return (
    <Notice tone="warning">
      Someone else has changed this animal: it is now <Name>{current.name}</Name>,{' '}
      <Name>{categoryName(current.categoryId)}</Name>, {current.status}. Only the fields that you change are
      saved.
    </Notice>
  )
}

type CategoryFieldsProps = {
  form: Form
  errors: FormErrors
  pet: Pet | undefined
  set(changes: Partial<Form>): void
}

function CategoryFields({ form, errors, pet, set }: CategoryFieldsProps) {
  const options = categoryOptions()
  // The category of the animal is a choice even if its name is not known.
  if (pet && !options.some(({ value }) => value === String(pet.categoryId)))
    options.unshift({ value: String(pet.categoryId), label: categoryName(pet.categoryId) })
  if (hasScope('categories:write')) options.push({ value: newCategory, label: 'New category…' })
  if (form.category === '') options.unshift({ value: '', label: 'Choose a category' })
  return (
    <>
      <SelectField
        label="Category"
        value={form.category}
        error={errors.category}
        onValue={(category) => set({ category })}
        options={options}
      />
      {form.category === newCategory && (
        <TextField
          label="Name of the new category"
          value={form.categoryName}
          error={errors.categoryName}
          placeholder="Rabbits"
          onValue={(name) => set({ categoryName: name })}
        />
      )}
    </>
  )
}

function initialForm(pet: Pet | undefined): Form {
  if (pet) return { name: pet.name, category: String(pet.categoryId), categoryName: '', status: pet.status }
  const isFirst = categoryOptions().length === 0 && hasScope('categories:write')
  return { name: '', category: isFirst ? newCategory : '', categoryName: '', status: 'available' }
}

/** What the API would reject, without asking it. */
function validate({ name, category, categoryName }: Form): FormErrors {
  const errors: FormErrors = {}
  if (name.trim() === '') errors.name = 'Enter a name.'
  else if (name.trim().length > petNameLengthMax)
    errors.name = `A name has at most ${petNameLengthMax} characters.`
  if (category === '') errors.category = 'Choose a category.'
  if (category === newCategory && categoryName.trim() === '')
    errors.categoryName = 'Enter a name for the category.'
  return errors
}

/** Sends what the person has changed, if the animal is still as the dialog shows it. */
async function saveChanges(
  list: PetList,
  pet: Pet,
  values: PetChange,
  { version, loadVersion }: ReturnType<typeof usePetVersion>,
): Promise<void> {
  const changes = changedFields(values, { ...pet, categoryId: parseId(String(pet.categoryId)) })
  if (Object.keys(changes).length === 0) return
  try {
    await updatePet(list, pet, changes, { ifMatch: version?.etag })
  } catch (thrown) {
    if (toRequestError(thrown).code !== 'precondition_failed') throw thrown
    const current = (await loadVersion())?.pet
    // The response to an earlier attempt may have been lost.
    const isSaved = typeof current === 'object' && Object.keys(changedFields(changes, current)).length === 0
    if (!isSaved) throw thrown
  }
}
