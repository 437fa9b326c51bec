import { useState } from 'preact/hooks'
import type { Pet } from '../../../../client/src/index.ts'
import { isPetTransitionAllowed, petStatuses } from '../../../../src/pets/pet.ts'
import { categoryName } from '../../app/categories.ts'
import { keepFocus } from '../../app/focus.ts'
import { isPrinting } from '../../app/printing.ts'
import { hasScope } from '../../app/session.ts'
import { isPhone } from '../../app/viewport.ts'
import { Button } from '../../components/Button.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { Menu, type MenuItem } from '../../components/Menu.tsx'
import { Name } from '../../components/Name.tsx'
import { PagedTable } from '../../components/PagedTable.tsx'
import { StatusChip } from '../../components/StatusChip.tsx'
import type { Column } from '../../components/VirtualTable.tsx'
import { Coverage, NameSearch } from './NameSearch.tsx'
import { changedIds, changeStatus, type PetList, removePet, searchOlder } from './pets.ts'

/** The dialog that is open. */
export type OpenDialog = { kind: 'edit' | 'order'; pet: Pet } | { kind: 'add' }

type AnimalsTableProps = {
  list: PetList
  isFiltered: boolean
  /** Whether a status or a category is chosen. */
  hasFilters: boolean
  isNameSearch: boolean
  onDialog(dialog: OpenDialog): void
  onClear(): void
}

export function AnimalsTable(props: AnimalsTableProps) {
  const { list, isNameSearch, hasFilters, onDialog } = props
  const { length, loadedCount } = list.size.value
  const state = list.state.value
  const [isSearching, setSearching] = useState(false)
  async function searchMore() {
    setSearching(true)
    await searchOlder(list)
    setSearching(false)
  }
  const search = isNameSearch && (
    <NameSearch
      list={list}
      hasFilters={hasFilters}
      isSearching={isSearching}
      onSearch={() => void searchMore()}
    />
  )
  if (length === 0 && loadedCount > 0 && state !== 'end' && search) return search
  return (
    <PagedTable
      list={list}
      noun="animal"
      columns={columnsFor(list, onDialog)}
      empty={<NoAnimals {...props} />}
      isLoadedOnRequest={isNameSearch}
      rowClass={(pet) => (changedIds.value.has(pet.id) ? 'row-changed' : '')}
    >
      {search}
    </PagedTable>
  )
}

function NoAnimals({ list, isFiltered, hasFilters, isNameSearch, onClear, onDialog }: AnimalsTableProps) {
  if (isFiltered)
    return (
      <EmptyState
        icon="search"
        title="No animals match"
        text={
          isNameSearch ? (
            <Coverage list={list} hasFilters={hasFilters} />
          ) : (
            'No animal has this id, status and category.'
          )
        }
        action={<Button onClick={onClear}>Clear search and filters</Button>}
      />
    )
  return (
    <EmptyState
      icon="paw"
      title="No animals yet"
      text="Animals that can be adopted appear here."
      action={
        hasScope('pets:write') && (
          <Button kind="primary" icon="plus" onClick={() => onDialog({ kind: 'add' })}>
            Add the first animal
          </Button>
        )
      }
    />
  )
}

const statusColumn: Column<Pet> = {
  name: 'Status',
  width: 'var(--status-width)',
  render: ({ status }) => <StatusChip status={status} />,
}

const columnsFor = (list: PetList, onDialog: (dialog: OpenDialog) => void): Column<Pet>[] => [
  {
    name: 'Id',
    width: '7rem',
    isHiddenOnPhone: true,
    render: ({ id }) => <span class="muted">{String(id)}</span>,
  },
  {
    name: 'Name',
    render: (pet) => (
      <>
        <span class="cell-title" title={pet.name}>
          {pet.name}
        </span>
        {isPhone.value && (
          <span class="cell-detail">
            <StatusChip status={pet.status} /> <Name>{categoryName(pet.categoryId)}</Name> · {String(pet.id)}
          </span>
        )}
      </>
    ),
  },
  {
    name: 'Category',
    width: '22%',
    isHiddenOnPhone: true,
    render: ({ categoryId }) => <span title={categoryName(categoryId)}>{categoryName(categoryId)}</span>,
  },
  // On a phone it is below the name, which needs the room. Paper has the room.
  ...(isPhone.value && !isPrinting.value ? [] : [statusColumn]),
  {
    name: 'Actions',
    isNameHidden: true,
    isNumeric: true,
    width: 'var(--actions-width)',
    render: (pet) => <RowActions list={list} pet={pet} onDialog={onDialog} />,
  },
]

type RowActionsProps = { list: PetList; pet: Pet; onDialog(dialog: OpenDialog): void }

function RowActions({ list, pet, onDialog }: RowActionsProps) {
  const canOrder = pet.status === 'available' && hasScope('orders:write')
  const items: MenuItem[] = []
  const order = () => onDialog({ kind: 'order', pet })
  if (canOrder) items.push({ label: 'Place order', onSelect: order })
  if (hasScope('pets:write')) {
    items.push({ label: 'Edit', onSelect: () => onDialog({ kind: 'edit', pet }) })
    for (const status of petStatuses)
      if (status !== pet.status && isPetTransitionAllowed(pet.status, status))
        items.push({ label: `Mark as ${status}`, onSelect: () => void changeStatus(list, pet, status) })
    const remove = () => {
      removePet(pet)
      keepFocus()
    }
    items.push({ label: 'Remove', isDanger: true, onSelect: remove })
  }
  return (
    <div class="row-actions">
      {canOrder && (
        <Button size="small" class="wide" onClick={order}>
          Place order
        </Button>
      )}
      {items.length > 0 && <Menu label={`Actions for ${pet.name}`} items={items} />}
    </div>
  )
}
