import { useEffect, useState } from 'preact/hooks'
import { type Category, headersOf, type Int64 } from '../../../../client/src/index.ts'
import { createCategory, findCategory, forgetCategory, keepCategory } from '../../app/categories.ts'
import { toRequestError } from '../../app/errors.ts'
import { store } from '../../app/store.ts'
import { showToast } from '../../app/toasts.ts'
import { TextField } from '../../components/Field.tsx'
import { ConflictNotices, FormDialog, useForm } from '../../components/FormDialog.tsx'
import { withNames } from '../../components/Name.tsx'

type CategoryDialogProps = {
  /** The category to rename. Without it, one is added. */
  category?: Category
  onClose(): void
}

/** Adds a category, or gives one a name. */
export function CategoryDialog({ category, onClose }: CategoryDialogProps) {
  const [name, setName] = useState(category?.name ?? '')
  const [nameError, setNameError] = useState<string>()
  const version = useVersion(category)
  const text = name.trim()
  const form = useForm(
    () => {
      setNameError(text === '' ? 'Enter a name.' : undefined)
      return text !== '' && !isRemoved
    },
    async (submission) => {
      if (category) await rename(category.id, text, version)
      else await createCategory(text, submission)
      showToast(category ? withNames`${text} saved.` : withNames`${text} added.`)
      onClose()
    },
  )
  const isRemoved =
    form.error?.code === 'category_not_found' || (category !== undefined && !findCategory(category.id))
  const isRenamed = version.name !== undefined && version.name !== category?.name
  const title = category?.name === undefined ? 'Name the category' : 'Rename the category'
  return (
    <FormDialog
      form={form}
      title={category ? title : 'Add a category'}
      action={isRemoved ? undefined : category ? 'Save' : 'Add category'}
      onClose={onClose}
    >
      <ConflictNotices
        form={form}
        kind="category"
        fields={['/name']}
        isRemoved={isRemoved}
        changed={
          isRenamed && withNames`Someone else has renamed this category: it is now ${version.name ?? ''}.`
        }
      />
      <TextField
        label="Name"
        hint={category && `Category ${category.id}. Its animals stay in it.`}
        value={name}
        placeholder="Rabbits"
        error={nameError ?? form.error?.detail('/name')}
        onValue={setName}
      />
    </FormDialog>
  )
}

/** Changes the name, unless someone else has changed it since the version was loaded. */
async function rename(categoryId: Int64, name: string, { etag, reload }: LoadedVersion): Promise<void> {
  try {
    keepCategory(await store.categories.update(categoryId, { name }, { ifMatch: etag }))
  } catch (thrown) {
    const { code } = toRequestError(thrown)
    if (code === 'category_not_found') forgetCategory(categoryId)
    if (code !== 'precondition_failed') throw thrown
    // The response to an earlier attempt may have been lost.
    if ((await reload())?.name !== name) throw thrown
  }
}

type Version = { name: string | undefined; etag: string | undefined }

type LoadedVersion = Version & { reload(): Promise<Category | undefined> }

/** The category as the API has it, loaded when the dialog opens and again when others change it. */
function useVersion(category: Category | undefined): LoadedVersion {
  const [version, setVersion] = useState<Version>({ name: undefined, etag: undefined })
  async function reload() {
    if (!category) return undefined
    try {
      const loaded = await store.categories.get(category.id)
      setVersion({ name: loaded.name, etag: headersOf(loaded).get('etag') ?? undefined })
      keepCategory(loaded)
      return loaded
    } catch (thrown) {
      // Otherwise the change is sent without a condition.
      if (toRequestError(thrown).code === 'category_not_found') forgetCategory(category.id)
      return undefined
    }
  }
  const followed = category && findCategory(category.id)?.name
  useEffect(() => void reload(), [category?.id, followed])
  return { ...version, reload }
}
