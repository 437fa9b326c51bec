import { useEffect, useState } from 'preact/hooks'
import type { Category } from '../../../../client/src/index.ts'
import {
  areCategoriesComplete,
  categoriesError,
  categoryCount,
  categoryList,
  reloadCategories,
} from '../../app/categories.ts'
import { formatCount } from '../../app/format.ts'
import { hrefOf, navigate } from '../../app/router.ts'
import { hasScope } from '../../app/session.ts'
import { streamReady } from '../../app/stream.ts'
import { Button } from '../../components/Button.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { LiveIndicator } from '../../components/LiveIndicator.tsx'
import { LoadingRows } from '../../components/Loading.tsx'
import { Menu, type MenuItem } from '../../components/Menu.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { type Column, VirtualTable } from '../../components/VirtualTable.tsx'
import { CategoryDialog } from './CategoryDialog.tsx'
import { RemoveCategoryDialog } from './RemoveCategoryDialog.tsx'

type OpenDialog = { kind: 'add' } | { kind: 'rename' | 'remove'; category: Category }
type OnDialog = (dialog: OpenDialog) => void

export default function Categories() {
  const [dialog, setDialog] = useState<OpenDialog>()
  const close = () => setDialog(undefined)
  useEffect(() => {
    void streamReady().then(reloadCategories)
  }, [])
  return (
    <>
      <PageHeader
        title="Categories"
        actions={
          <>
            <LiveIndicator onRefresh={() => void reloadCategories()} />
            {hasScope('categories:write') && (
              <Button kind="primary" icon="plus" onClick={() => setDialog({ kind: 'add' })}>
                Add category
              </Button>
            )}
          </>
        }
      />
      <CategoriesTable onDialog={setDialog} />
      {dialog?.kind === 'add' && <CategoryDialog onClose={close} />}
      {dialog?.kind === 'rename' && <CategoryDialog category={dialog.category} onClose={close} />}
      {dialog?.kind === 'remove' && <RemoveCategoryDialog category={dialog.category} onClose={close} />}
    </>
  )
}

function CategoriesTable({ onDialog }: { onDialog: OnDialog }) {
  const categories = categoryList()
  const error = categoriesError.value
  const isComplete = areCategoriesComplete.value
  const { length } = categories
  if (length === 0 && error) return <ErrorState error={error} onRetry={() => void reloadCategories()} />
  if (length === 0 && !isComplete) return <LoadingRows label="Loading categories" />
  if (length === 0)
    return (
      <EmptyState
        icon="category"
        title="No categories yet"
        text="A category is a kind of animal, such as dogs. It also appears here when an animal is added with it."
      />
    )
  return (
    <div class="table-card">
      <VirtualTable
        label="Categories"
        columns={columnsFor(onDialog)}
        length={length}
        itemAt={(index) => categories[index]}
        keyOf={({ id }) => String(id)}
        onEnd={() => {}}
        footer={
          error ? (
            <ErrorState error={error} hasContent onRetry={() => void reloadCategories()} />
          ) : (
            <p class="table-footer" role="status">
              {isComplete
                ? categoryCount(length)
                : `${formatCount(length)} loaded. Categories beyond that are not shown.`}
            </p>
          )
        }
      />
    </div>
  )
}

const columnsFor = (onDialog: OnDialog): Column<Category>[] => [
  {
    name: 'Name',
    render: ({ id, name }) => (
      <>
        {name === undefined ? (
          <span class="cell-title muted">No name yet</span>
        ) : (
          <span class="cell-title" title={name}>
            {name}
          </span>
        )}
        <span class="cell-detail">Category {String(id)}</span>
      </>
    ),
  },
  {
    name: 'Id',
    width: '13rem',
    isHiddenOnPhone: true,
    render: ({ id }) => <span class="muted">{String(id)}</span>,
  },
  {
    name: 'Actions',
    isNameHidden: true,
    isNumeric: true,
    width: 'var(--actions-width)',
    render: (category) => <RowActions category={category} onDialog={onDialog} />,
  },
]

function RowActions({ category, onDialog }: { category: Category; onDialog: OnDialog }) {
  const { id, name } = category
  const label = name ?? `category ${id}`
  const animals = `animals?category=${id}`
  const items: MenuItem[] = []
  if (hasScope('pets:read')) items.push({ label: 'Show animals', onSelect: () => navigate(animals) })
  if (hasScope('categories:write'))
    items.push(
      {
        label: name === undefined ? 'Give a name' : 'Rename',
        onSelect: () => onDialog({ kind: 'rename', category }),
      },
      { label: 'Remove', isDanger: true, onSelect: () => onDialog({ kind: 'remove', category }) },
    )
  return (
    <div class="row-actions">
      {hasScope('pets:read') && (
        <a
          class="button button-secondary button-small wide"
          href={hrefOf(animals)}
          aria-label={`Animals of ${label}`}
        >
          Animals
        </a>
      )}
      {items.length > 0 && <Menu label={`Actions for ${label}`} items={items} />}
    </div>
  )
}
