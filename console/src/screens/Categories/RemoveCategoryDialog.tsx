import { useState } from 'preact/hooks'
import type { Category, Int64 } from '../../../../client/src/index.ts'
import { categoryName, forgetCategory } from '../../app/categories.ts'
import { toRequestError } from '../../app/errors.ts'
import { keepFocus } from '../../app/focus.ts'
import { formatCount, pluralize } from '../../app/format.ts'
import { hrefOf } from '../../app/router.ts'
import { hasScope } from '../../app/session.ts'
import { store } from '../../app/store.ts'
import { showToast } from '../../app/toasts.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { withNames } from '../../components/Name.tsx'

/** The most animals that one request returns. */
const countMax = 100

type RemoveCategoryDialogProps = { category: Category; onClose(): void }

export function RemoveCategoryDialog({ category: { id }, onClose }: RemoveCategoryDialogProps) {
  /** A sentence that says how many animals prevent the removal. */
  const [inUse, setInUse] = useState<string>()
  const name = categoryName(id)
  async function remove() {
    setInUse(undefined)
    try {
      await store.categories.delete(id)
    } catch (thrown) {
      const error = toRequestError(thrown)
      if (error.code === 'category_in_use') setInUse(await describeUse(id))
      // Someone else was faster.
      if (error.code !== 'category_not_found') throw error
    }
    forgetCategory(id)
    showToast(withNames`${name} removed.`)
    onClose()
    keepFocus()
  }
  return (
    <ConfirmDialog
      title={withNames`Remove “${name}”?`}
      text="Only a category without animals can be removed. Sold animals count too."
      action="Remove category"
      isDanger
      run={remove}
      onClose={onClose}
      explain={(error) =>
        error.code === 'category_in_use'
          ? `${inUse} Choose another category for each of them first, or remove them.`
          : undefined
      }
    >
      {inUse !== undefined && hasScope('pets:read') && (
        <p>
          <a href={hrefOf(`animals?category=${id}`)}>{withNames`Show the animals of ${name}`}</a>
        </p>
      )}
    </ConfirmDialog>
  )
}

/** "3 animals are in this category." */
async function describeUse(categoryId: Int64): Promise<string> {
  const unknown = 'Animals are in this category.'
  if (!hasScope('pets:read')) return unknown
  const found = await store.pets
    .list({ categoryId })
    .toArray({ limit: countMax })
    .catch(() => [])
  if (found.length === 0) return unknown
  if (found.length === countMax) return `${formatCount(countMax)} or more animals are in this category.`
  return `${pluralize(found.length, 'animal')} ${found.length === 1 ? 'is' : 'are'} in this category.`
}
