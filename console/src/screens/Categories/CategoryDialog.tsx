import { useEffect, useState } from 'preact/hooks'
import { call, callWithHeaders, Submission } from '../../api/client.ts'
import { type RequestError, toRequestError } from '../../api/errors.ts'
import type { Category } from '../../api/types.ts'
import { createCategory, findCategory, forgetCategory, keepCategory } from '../../app/categories.ts'
import { showToast } from '../../app/toasts.ts'
import { Button } from '../../components/Button.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { TextField } from '../../components/Field.tsx'
import { FormError } from '../../components/FormError.tsx'
import { Name } from '../../components/Name.tsx'
import { Notice } from '../../components/Notice.tsx'

type CategoryDialogProps = {
  /** The category to rename. Without it, one is added. */
  category?: Category
  onClose(): void
}

/** Adds a category, or gives one a name. */
export function CategoryDialog({ category, onClose }: CategoryDialogProps) {
  const [name, setName] = useState(category?.name ?? '')
  const [nameError, setNameError] = useState<string>()
  const [error, setError] = useState<RequestError>()
  const [isBusy, setBusy] = useState(false)
  const [submission] = useState(() => new Submission())
  const version = useVersion(category)
  const isRemoved = error?.code === 'category_not_found' || (category && !findCategory(category.id))

  async function submit() {
    const text = name.trim()
    setNameError(text === '' ? 'Enter a name.' : undefined)
    setError(undefined)
    if (text === '' || isBusy || isRemoved) return
    setBusy(true)
    try {
      if (category) await rename(category.id, text, version.etag)
      else await createCategory(text, submission)
      showToast(
        <>
          <Name>{text}</Name> {category ? 'saved.' : 'added.'}
        </>,
      )
      onClose()
    } catch (thrown) {
      const failed = toRequestError(thrown)
      setError(failed)
      setBusy(false)
      if (failed.code === 'category_not_found' && category) forgetCategory(category.id)
      if (failed.code === 'precondition_failed') version.reload()
    }
  }
  return (
    <Dialog
      title={
        category
          ? category.name === undefined
            ? 'Name the category'
            : 'Rename the category'
          : 'Add a category'
      }
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
              {category ? 'Save' : 'Add category'}
            </Button>
          )}
        </>
      }
    >
      {isRemoved && <Notice tone="danger">Someone else has removed this category.</Notice>}
      {!isRemoved && error?.code !== 'precondition_failed' && <FormError error={error} fields={['/name']} />}
      {category && !isBusy && !isRemoved && <ChangedMeanwhile category={category} loaded={version.name} />}
      {error?.code === 'precondition_failed' && (
        <Notice tone="danger">Nothing was saved. Check the change, and save again.</Notice>
      )}
      <TextField
        label="Name"
        hint={category && `Category ${category.id}. Its animals stay in it.`}
        value={name}
        placeholder="Rabbits"
        error={nameError ?? error?.detail('/name')}
        onValue={setName}
      />
    </Dialog>
  )
}

async function rename(categoryId: number, name: string, ifMatch: string | undefined): Promise<void> {
  const params = { categoryId }
  try {
    const { data } = await callWithHeaders('updateCategory', { params, body: { name }, ifMatch })
    keepCategory(data)
  } catch (thrown) {
    if (toRequestError(thrown).code !== 'precondition_failed') throw thrown
    // The response to an earlier attempt may have been lost.
    const current = await call('getCategory', { params })
    if (current.name !== name) throw thrown
    keepCategory(current)
  }
}

/** Someone else may rename the category while the dialog is open. */
function ChangedMeanwhile({ category, loaded }: { category: Category; loaded: string | undefined }) {
  if (loaded === undefined || loaded === category.name) return null
  return (
    <Notice tone="warning">
      Someone else has renamed this category: it is now <Name>{loaded}</Name>.
    </Notice>
  )
}

type Version = { name: string | undefined; etag: string | undefined }

/** The category as the API has it, loaded when the dialog opens and again when others change it. */
function useVersion(category: Category | undefined): Version & { reload(): void } {
  const [version, setVersion] = useState<Version>({ name: undefined, etag: undefined })
  const reload = () => {
    if (!category) return
    callWithHeaders('getCategory', { params: { categoryId: category.id } }).then(
      ({ data, etag }) => {
        setVersion({ name: data.name, etag })
        keepCategory(data)
      },
      (thrown: unknown) => {
        // Otherwise the change is sent without a condition.
        if (toRequestError(thrown).code === 'category_not_found') forgetCategory(category.id)
      },
    )
  }
  const followed = category && findCategory(category.id)?.name
  useEffect(reload, [category?.id, followed])
  return { ...version, reload }
}
