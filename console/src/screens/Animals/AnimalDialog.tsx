import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { type Pet, type PetStatus, parseInt64, type Submission } from '../../../../client/src/index.ts'
import { isPetTransitionAllowed, petNameLengthMax, petStatuses } from '../../../../src/pets/pet.ts'
import { categoryName, categoryOptions, createCategory } from '../../app/categories.ts'
import { changedFields } from '../../app/changedFields.ts'
import { toRequestError } from '../../app/errors.ts'
import { navigate } from '../../app/router.ts'
import { hasScope } from '../../app/session.ts'
import { showToast } from '../../app/toasts.ts'
import { SelectField, TextField } from '../../components/Field.tsx'
import { ConflictNotices, FormDialog, useForm } from '../../components/FormDialog.tsx'
import { withNames } from '../../components/Name.tsx'
import { statusName } from '../../components/StatusChip.tsx'
import { explain } from './messages.tsx'
import { type ChangeView, createPet, type PetChange, updatePet } from './pets.ts'
import { usePetVersion } from './useFollowedPet.ts'

const newCategory = 'new'

type Fields = { name: string; category: string; categoryName: string; status: PetStatus }
type Problems = Partial<Record<keyof Fields, string | undefined>>

type AnimalDialogProps = {
  list: ChangeView
  /** The animal to edit. Without it, one is added. */
  pet?: Pet | undefined
  onClose(): void
}

export function AnimalDialog({ list, pet, onClose }: AnimalDialogProps) {
  const [fields, setFields] = useState(() => initialFields(pet))
  const [problems, setProblems] = useState<Problems>({})
  /** A new category is created before the animal. */
  const step = useRef<'category' | 'animal'>('category')
  const set = (changes: Partial<Fields>) => setFields((current) => ({ ...current, ...changes }))
  const { version, loadVersion } = usePetVersion(pet)
  const current = version?.pet
  const isRemoved = current === 'removed'

  /** Creates the category that the form names. Sending the form again uses it. */
  async function createFormCategory(submission: Submission): Promise<string> {
    const { id } = await createCategory(fields.categoryName.trim(), submission)
    set({ category: String(id), categoryName: '' })
    return String(id)
  }
  const form = useForm(
    () => {
      const found = validate(fields)
      setProblems(found)
      return Object.keys(found).length === 0 && !isRemoved
    },
    async (submission) => {
      const name = fields.name.trim()
      step.current = 'category'
      const category =
        fields.category === newCategory ? await createFormCategory(submission) : fields.category
      step.current = 'animal'
      const values = { name, categoryId: parseInt64(category), status: fields.status }
      if (pet) await saveChanges(list, pet, values, { version, loadVersion })
      const created = pet ? undefined : await createPet(values, submission)
      showToast(pet ? withNames`${name} saved.` : withNames`${name} added.`)
      onClose()
      if (created) navigate(`animals/${created.id}`)
    },
  )
  const rejected = (path: string, of: typeof step.current = 'animal') =>
    of === step.current ? form.error?.detail(path) : undefined
  const errors: Problems = {
    name: problems.name ?? rejected('/name'),
    category: problems.category ?? rejected('/categoryId'),
    categoryName: problems.categoryName ?? rejected('/name', 'category'),
  }
  const statuses = petStatuses.filter((status) => !pet || isPetTransitionAllowed(pet.status, status))
  return (
    <FormDialog
      form={form}
      title={pet ? `Edit ${pet.name}` : 'Add an animal'}
      action={isRemoved ? undefined : pet ? 'Save' : 'Add animal'}
      onClose={onClose}
    >
      <ConflictNotices
        form={form}
        kind="animal"
        fields={['/name', '/categoryId', '/status']}
        isRemoved={isRemoved}
        changed={pet && current && !isRemoved && changeByOthers(pet, current)}
        explain={(error) => explain(error, fields)}
      />
      <TextField label="Name" value={fields.name} error={errors.name} onValue={(name) => set({ name })} />
      <CategoryFields fields={fields} errors={errors} pet={pet} set={set} />
      <SelectField
        label="Status"
        value={fields.status}
        error={rejected('/status')}
        onValue={(status) => set({ status: status as PetStatus })}
        options={statuses.map((status) => ({ value: status, label: statusName(status) }))}
      />
    </FormDialog>
  )
}

/** Someone else may change the animal while the dialog is open. */
function changeByOthers(pet: Pet, current: Pet): ComponentChildren {
  const compared = ['name', 'categoryId', 'status'] as const
  if (compared.every((field) => current[field] === pet[field])) return null
  const { name, categoryId, status } = current
  return [
    withNames`Someone else has changed this animal: it is now ${name}, ${categoryName(categoryId)}, `,
    `${status}. Only the fields that you change are saved.`,
  ]
}

type CategoryFieldsProps = {
  fields: Fields
  errors: Problems
  pet: Pet | undefined
  set(changes: Partial<Fields>): void
}

function CategoryFields({ fields, errors, pet, set }: CategoryFieldsProps) {
  const options = categoryOptions()
  // The category of the animal is a choice even if its name is not known.
  if (pet && !options.some(({ value }) => value === String(pet.categoryId)))
    options.unshift({ value: String(pet.categoryId), label: categoryName(pet.categoryId) })
  if (hasScope('categories:write')) options.push({ value: newCategory, label: 'New category…' })
  if (fields.category === '') options.unshift({ value: '', label: 'Choose a category' })
  return (
    <>
      <SelectField
        label="Category"
        value={fields.category}
        error={errors.category}
        onValue={(category) => set({ category })}
        options={options}
      />
      {fields.category === newCategory && (
        <TextField
          label="Name of the new category"
          value={fields.categoryName}
          error={errors.categoryName}
          placeholder="Rabbits"
          onValue={(name) => set({ categoryName: name })}
        />
      )}
    </>
  )
}

function initialFields(pet: Pet | undefined): Fields {
  if (pet) return { name: pet.name, category: String(pet.categoryId), categoryName: '', status: pet.status }
  const isFirst = categoryOptions().length === 0 && hasScope('categories:write')
  return { name: '', category: isFirst ? newCategory : '', categoryName: '', status: 'available' }
}

/** What the API would reject, without asking it. */
function validate({ name, category, categoryName }: Fields): Problems {
  const errors: Problems = {}
  if (name.trim() === '') errors.name = 'Enter a name.'
  // In characters, as the API counts: an emoji is two UTF-16 units.
  else if ([...name.trim()].length > petNameLengthMax)
    errors.name = `A name has at most ${petNameLengthMax} characters.`
  if (category === '') errors.category = 'Choose a category.'
  if (category === newCategory && categoryName.trim() === '')
    errors.categoryName = 'Enter a name for the category.'
  return errors
}

/** Sends what the person has changed, if the animal is still as the dialog shows it. */
async function saveChanges(
  list: ChangeView,
  pet: Pet,
  values: PetChange,
  { version, loadVersion }: ReturnType<typeof usePetVersion>,
): Promise<void> {
  const changes = changedFields(values, pet)
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
